//! Prior prices: the approximate cost of each class of computation on a server processor of the 2020s. They pull a fit
//! weakly towards them, and remain the price of a class that no work contains.

/// Seconds of CPU time of the loop device below the native half for a byte read, a byte written, a request and a flush.
pub(super) const LOOP_PRIORS: [f64; 4] = [150e-12, 350e-12, 1e-6, 5e-6];

/// Picoseconds of classes that are not bytes or calls of an algorithm.
const PRIORS: [(&str, f64); 11] = [
    ("block_hot", 800.0),
    ("block_warm", 2500.0),
    ("block_cold", 15_000.0),
    ("byte_copied", 145.0),
    ("byte_set", 35.0),
    ("system_call", 150_000.0),
    ("context_switch", 1_200_000.0),
    ("wake_up", 500_000.0),
    ("interrupt", 500_000.0),
    ("page_fault", 320_000.0),
    ("user_return", 200_000.0),
];
const ALGORITHMS: [(&str, f64, f64); 16] = [
    // openssl speed of aes-256-xts: 3.7 GB/s
    ("aes", 100_000.0, 280.0),
    ("other_cipher", 200_000.0, 2000.0),
    ("crc32c", 15_000.0, 60.0),
    ("sha256", 50_000.0, 2000.0),
    ("blake2b", 50_000.0, 1200.0),
    ("xxhash", 20_000.0, 120.0),
    ("other_digest", 50_000.0, 1000.0),
    ("zstd_compress", 2e6, 2000.0),
    ("zstd_decompress", 650_000.0, 400.0),
    ("lzo_compress", 500_000.0, 1000.0),
    ("lzo_decompress", 200_000.0, 300.0),
    ("lz4_compress", 500_000.0, 1000.0),
    ("lz4_decompress", 100_000.0, 250.0),
    ("zlib_compress", 2e6, 10_000.0),
    ("zlib_decompress", 1e6, 2000.0),
    ("parity", 100_000.0, 60.0),
];

/// The prior price of a class, in seconds.
pub(super) fn prior_of(class: &str) -> f64 {
    let plain = PRIORS.iter().find(|(name, _)| *name == class).map(|(_, price)| *price);
    let of_algorithm = || {
        let find = |stem: &str| ALGORITHMS.iter().find(|(name, ..)| *name == stem);
        let call = class.strip_suffix("_call").and_then(find).map(|(_, call, _)| *call);
        call.or_else(|| class.strip_suffix("_byte").and_then(find).map(|(.., byte)| *byte))
    };
    // Only an unknown kernel could have a class without a prior; the test below excludes that.
    plain.or_else(of_algorithm).unwrap_or(1000.0) * 1e-12
}

#[cfg(test)]
mod tests {
    use super::{ALGORITHMS, PRIORS, prior_of};
    use fsverdict_lab::kernel::CPU_CLASSES;

    #[test]
    fn every_class_has_a_prior_and_every_prior_a_class() {
        let names = PRIORS.iter().map(|(name, _)| (*name).to_owned());
        let of_algorithms =
            ALGORITHMS.iter().flat_map(|(name, ..)| [format!("{name}_call"), format!("{name}_byte")]);
        let mut all: Vec<String> = names.chain(of_algorithms).collect();
        let mut classes: Vec<String> = CPU_CLASSES.iter().map(|class| (*class).to_owned()).collect();
        all.sort();
        classes.sort();
        assert_eq!(all, classes);
        assert!(
            (prior_of("aes_byte") - 280e-12).abs() < 1e-15 && (prior_of("block_hot") - 800e-12).abs() < 1e-15
        );
    }
}
