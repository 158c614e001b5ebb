/* What a program in C makes of the same calls: so many new files of so many bytes in one directory, with the names that a file has
   line by line, or reads of 4 KiB at random places of a file, shared by threads. Prints the seconds. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int dir, file, threads, size, reads;
static long count;
static char (*names)[64];

static void *work(void *arg)
{
	long me = (long)arg, at;
	char *bytes = malloc(size > 4096 ? size : 4096);
	memset(bytes, 7, size > 4096 ? size : 4096);
	for (at = me; at < count; at += threads) {
		if (reads) {
			/* Every place once, in an order without a pattern: the count is a power of two. */
			long place = (at * 2654435761L + 12345) & (count - 1);
			if (pread(file, bytes, 4096, place * 4096) != 4096)
				exit(3);
			continue;
		}
		int fd = openat(dir, names[at], O_WRONLY | O_CREAT | O_EXCL, 0644);
		if (fd < 0 || write(fd, bytes, size) != size || close(fd))
			exit(4);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct timespec a, b;
	pthread_t ids[64];
	if (argc < 6)
		return 2;
	reads = !strcmp(argv[1], "read");
	count = atol(argv[3]), size = atoi(argv[4]), threads = atoi(argv[5]);
	if (!reads) {
		FILE *list = argc == 7 ? fopen(argv[6], "r") : 0;
		names = calloc(count, sizeof *names);
		for (long at = 0; at < count; at++)
			if (!list || fscanf(list, "%63s", names[at]) != 1)
				return 6;
	}
	clock_gettime(CLOCK_MONOTONIC, &a);
	if (reads)
		file = open(argv[2], O_RDONLY);
	else if (mkdir(argv[2], 0755) || (dir = open(argv[2], O_RDONLY | O_DIRECTORY)) < 0)
		return 5;
	for (long at = 1; at < threads; at++)
		pthread_create(&ids[at], 0, work, (void *)at);
	work(0);
	for (long at = 1; at < threads; at++)
		pthread_join(ids[at], 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%.9f\n", (b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) / 1e9);
	return 0;
}
