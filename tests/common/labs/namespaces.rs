//! What a program tries that wants out of its sandbox by a namespace of its own: with any kind of namespace, with and without a
//! user namespace, by each of the three system calls that make one, and then by mounting every filesystem that this kernel
//! has. No id map is written, since a user namespace without one has every capability, too.

/// A program for `perl -e '…'`: prints `made KIND` and `mounted TYPE` (in a user namespace with KIND), and succeeds if it
/// could make or mount anything. Each attempt has a process of its own, and namespaces end with it.
pub const NAMESPACES: &str = r#"
    use strict;
    my ($unshare, $clone, $clone3, $mount) = (272, 56, 435, 165);
    my %kinds = (user => 0x10000000, mnt => 0x20000, cgroup => 0x2000000, uts => 0x4000000, ipc => 0x8000000,
                 pid => 0x20000000, net => 0x40000000, time => 0x80);
    open(my $list, "<", "/proc/filesystems") or die "no list of filesystems: $!";
    my @types = map { (split)[-1] } <$list>;
    my $broke = 0;
    $| = 1;
    sub attempt { my ($name, $make) = @_; if ($make->() == 0) { print "made $name\n"; $broke = 1; return 1 } 0 }
    sub apart {
        my ($what) = @_;
        my $child = fork() // die "no process: $!";
        if (!$child) { $broke = 0; $what->(); exit($broke ? 7 : 0) }
        waitpid($child, 0);
        $broke = 1 if $? >> 8 == 7;
    }
    for my $kind (sort keys %kinds) {
        my $flag = $kinds{$kind};
        apart(sub { attempt("$kind", sub { syscall($unshare, $flag) }) });
        apart(sub {
            my $both = $flag | $kinds{user} | $kinds{mnt} | $kinds{cgroup};
            attempt("user+$kind", sub { syscall($unshare, $both) }) or return;
            for my $type (@types) {
                my ($source, $point, $options) = ("none", "/tmp", "");
                next if syscall($mount, $source, $point, $type, 0, $options) != 0;
                print "mounted $type\n";
                $broke = 1;
            }
        });
        next if $kind eq "time";
        for my $way ("clone", "clone3") {
            my ($name, $flags) = ("$way user+$kind", $flag | $kinds{user});
            my $process = $way eq "clone"
                ? syscall($clone, $flags | 17, 0, 0, 0, 0)
                : do { my $call = pack("Q8", $flags, 0, 0, 0, 17, 0, 0, 0); syscall($clone3, $call, 64) };
            if ($process == 0) { exec "true"; exit 0 }
            if ($process > 0) { print "made $name\n"; $broke = 1; waitpid($process, 0) }
        }
    }
    exit !$broke;
"#;

/// What [`NAMESPACES`] prints at least where nothing confines it: every kind by every way, and filesystems that anybody
/// may mount in namespaces of their own.
pub const WITHOUT_SANDBOX: [&str; 27] = [
    "made user",
    "made user+user",
    "made user+mnt",
    "made user+cgroup",
    "made user+uts",
    "made user+ipc",
    "made user+pid",
    "made user+net",
    "made user+time",
    "made clone user+user",
    "made clone user+mnt",
    "made clone user+cgroup",
    "made clone user+uts",
    "made clone user+ipc",
    "made clone user+pid",
    "made clone user+net",
    "made clone3 user+user",
    "made clone3 user+mnt",
    "made clone3 user+cgroup",
    "made clone3 user+uts",
    "made clone3 user+ipc",
    "made clone3 user+pid",
    "made clone3 user+net",
    "mounted cgroup2",
    "mounted tmpfs",
    "mounted ramfs",
    "mounted devpts",
];
