//! The thread that submitted a request, as far as its guest's kernel reports it.

/// The thread that submitted a request: a digest of its name, and whether it is the kernel's own.
///
/// A laboratory kernel sends it in the field of a request's header that holds an I/O priority (`kernel/patches/0010`,
/// which describes its encoding); any other kernel sends a priority there, which has 16 bits and identifies no
/// thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Submitter(u32);

/// The field holds a submitter, and not a priority.
const TOLD: u32 = 1 << 31;
const OF_KERNEL: u32 = 1 << 30;

impl Submitter {
    /// Decodes the field of a request's header; `None` where it holds a priority.
    pub fn told(header: u32) -> Option<Submitter> {
        (header & TOLD != 0).then_some(Submitter(header))
    }

    /// Computes the digest of a kernel thread of this name; the part after a `/`, or after a `-` before a digit,
    /// names a single disk and is ignored.
    pub fn kernel_thread(name: &str) -> Submitter {
        Submitter(Submitter::process(name).0 | OF_KERNEL)
    }

    /// Computes the digest of a thread of a program.
    pub fn process(name: &str) -> Submitter {
        let digit = |at: usize| name.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let ends = |(at, letter): (usize, u8)| letter == b'/' || letter == b'-' && digit(at + 1);
        let name: Vec<u8> =
            name.bytes().enumerate().take_while(|one| !ends(*one)).map(|(_, letter)| letter).collect();
        // FNV-1a. The kernel keeps 15 letters of a name.
        let digest = name
            .iter()
            .take(15)
            .fold(0x811c_9dc5_u32, |digest, letter| (digest ^ u32::from(*letter)).wrapping_mul(0x0100_0193));
        Submitter(digest & !(TOLD | OF_KERNEL) | TOLD)
    }

    pub fn is_kernel_thread(self) -> bool {
        self.0 & OF_KERNEL != 0
    }

    /// The number as it is in the header.
    pub fn number(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Submitter;

    #[test]
    fn a_thread_is_the_same_on_every_disk_and_a_priority_is_none() {
        let alike = [("jbd2/vda-8", "jbd2"), ("f2fs_gc-254:0", "f2fs_gc"), ("kworker/u4:1", "kworker")];
        for (long, short) in alike {
            assert_eq!(Submitter::kernel_thread(long), Submitter::kernel_thread(short));
        }
        assert_ne!(Submitter::kernel_thread("btrfs-cleaner"), Submitter::kernel_thread("btrfs"));
        let (thread, program) = (Submitter::kernel_thread("rsync"), Submitter::process("rsync"));
        assert!(thread != program && thread.is_kernel_thread() && !program.is_kernel_thread());
        assert_eq!(Submitter::told(thread.number()), Some(thread));
        // An unpatched kernel sends this priority: best effort, level 4.
        assert_eq!(Submitter::told(2 << 13 | 4), None);
        assert_eq!(Submitter::told(0), None);
    }
}
