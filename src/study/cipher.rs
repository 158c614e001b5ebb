//! Measures the CPU time of a cipher for each byte, by `cryptsetup benchmark` if the kernel permits it, otherwise by
//! `openssl speed`.

use std::time::Duration;

use fsverdict_linux::sandbox::program::Program;
use fsverdict_stack::layer::Cipher;

use super::error::NoPrice;

/// Bytes that are encrypted at once: the smallest sector of LUKS.
const PIECE: &str = "512";
const LIMIT: Duration = Duration::from_secs(30);

/// Seconds of one processor for each byte.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CipherPrice {
    pub(super) written: f64,
    pub(super) read: f64,
    /// The source of the price, as a sentence without a full stop.
    pub(super) basis: String,
}

/// Measures the price of a cipher, or returns why it cannot be measured.
pub(super) fn cipher_price(cipher: Cipher) -> Result<CipherPrice, NoPrice> {
    let benchmark_output = run_for_output(&[
        "cryptsetup",
        "benchmark",
        "--cipher",
        cipher.cryptsetup,
        "--key-size",
        cipher.key_bits,
    ]);
    let of_kernel = benchmark_output.as_deref().and_then(parse_cryptsetup_rates);
    let (program, [written, read]) = match of_kernel {
        Some(rates) => ("cryptsetup benchmark", rates),
        None => {
            let rate = |more: &[&str]| {
                let words =
                    ["openssl", "speed", "-evp", cipher.openssl, "-bytes", PIECE, "-seconds", "1", "-mr"];
                parse_openssl_rate(&run_for_output(&[&words[..], more].concat())?)
            };
            let rates = rate(&[]).zip(rate(&["-decrypt"]));
            let (written, read) = rates.ok_or(NoPrice::Cipher(cipher.openssl))?;
            ("openssl speed", [written, read])
        }
    };
    let basis = format!(
        "{} by {program}: {:.2} s for 10⁹ bytes written, {:.2} s read, times the bytes of each phase",
        cipher.openssl,
        1e9 / written,
        1e9 / read
    );
    Ok(CipherPrice { written: 1.0 / written, read: 1.0 / read, basis })
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
