//! Measures the CPU time of a cipher for each byte, by `cryptsetup benchmark` if the kernel permits it, otherwise by
//! `openssl speed`.

use std::time::Duration;

use fsverdict_linux::sandbox::program::Program;
use fsverdict_stack::layer::Cipher;

/// Bytes that are encrypted at once: the smallest sector of LUKS.
const PIECE: &str = "512";
const LIMIT: Duration = Duration::from_secs(30);

/// Seconds of one processor for each byte: the mean of encrypting and decrypting. `None` if neither program tells.
pub(super) fn measure_cipher(cipher: Cipher) -> Option<f64> {
    let benchmark = ["cryptsetup", "benchmark", "--cipher", cipher.cryptsetup, "--key-size", cipher.key_bits];
    let of_kernel = run_for_output(&benchmark).as_deref().and_then(parse_cryptsetup_rates);
    let of_library = || {
        let words = ["openssl", "speed", "-evp", cipher.openssl, "-bytes", PIECE, "-seconds", "1", "-mr"];
        let rate = |more: &[&str]| parse_openssl_rate(&run_for_output(&[&words[..], more].concat())?);
        Some([rate(&[])?, rate(&["-decrypt"])?])
    };
    let [encrypted, decrypted] = of_kernel.or_else(of_library)?;
    Some(f64::midpoint(1.0 / encrypted, 1.0 / decrypted))
}

fn run_for_output(argv: &[&str]) -> Option<String> {
    let record = Program::new(argv.iter().copied()).with_time_limit(LIMIT).run("measure a cipher").ok()?;
    (record.exit == Some(0)).then(|| record.stdout + "\n" + &record.stderr)
}

/// Parses the bytes per second of encryption and decryption: `aes-xts        512b      2166.5 MiB/s      2171.7 MiB/s`.
fn parse_cryptsetup_rates(text: &str) -> Option<[f64; 2]> {
    let line = text.lines().find(|line| !line.starts_with('#') && line.matches("MiB/s").count() == 2)?;
    let mut rates = line.split_ascii_whitespace().filter_map(|word| word.parse::<f64>().ok());
    let rates = [rates.next()?, rates.next()?].map(|rate| rate * 1_048_576.0);
    rates.iter().all(|rate| *rate > 0.0 && rate.is_finite()).then_some(rates)
}

/// Parses the bytes for each second of CPU time: `+F:25:AES-256-XTS:5084672000.00`.
fn parse_openssl_rate(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("+F:"))?;
    line.rsplit(':').next()?.trim().parse().ok().filter(|rate: &f64| *rate > 0.0 && rate.is_finite())
}

#[cfg(test)]
mod tests {
    use super::{parse_cryptsetup_rates, parse_openssl_rate};

    #[test]
    fn what_both_programs_print_is_understood() {
        let told = "# Tests are approximate using memory only (no storage IO).\n\
                    # Algorithm |       Key |      Encryption |      Decryption\n    \
                    aes-xts        512b      2166.5 MiB/s      2171.7 MiB/s\n";
        assert_eq!(parse_cryptsetup_rates(told), Some([2166.5 * 1_048_576.0, 2171.7 * 1_048_576.0]));
        let told = "+DT:AES-256-XTS:1:4096\n+R:397240:AES-256-XTS:0.320000\n+H:4096\n+F:25:AES-256-XTS:5084672000.00\n";
        assert_eq!(parse_openssl_rate(told), Some(5_084_672_000.0));
        for nothing in
            ["", "Cipher aes-xts-plain64 (with 512 bits key) is not available.", "+F:25:AES:0", "+F:"]
        {
            assert_eq!(
                (parse_cryptsetup_rates(nothing), parse_openssl_rate(nothing)),
                (None, None),
                "{nothing}"
            );
        }
    }
}
