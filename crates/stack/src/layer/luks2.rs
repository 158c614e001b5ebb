//! LUKS version 2.

use super::luks::{self, LUKS};
use super::luks_options::CryptOptions;
use super::model::{InUse, Layer, LayerLine};

/// The default header takes 16 MiB. Below 4 MiB cryptsetup warns that few key slots fit.
const OPTIONS: &[&str] = &[
    "--pbkdf",
    "pbkdf2",
    "--pbkdf-force-iterations",
    "1000",
    "--luks2-metadata-size",
    "16k",
    "--luks2-keyslots-size",
    "4064k",
];

pub(super) static LUKS2: Layer = Layer {
    name: "luks2",
    summary: "LUKS version 2 through dm-crypt: aes-xts-plain64 with a 512-bit key, in sectors of 512 or 4096 bytes, as cryptsetup \
              chooses for the device (4096 where its physical sectors are; recorded). Key derivation is PBKDF2 with the \
              fewest iterations allowed, so that it is not what is timed; the header is 4 MiB; discards pass through. \
              cipher=NAME, key=BITS, sector=BYTES, header=detached (which lies in memory; data begin with the device), no_read_workqueue \
              and no_write_workqueue may follow its name.",
    header: 4 << 20,
    options: |options| CryptOptions::parse("luks2", options).map(|_| 1),
    usual: true,
    make: Some(LayerLine { step: "encrypt", argv: |site| luks::format_command("luks2", OPTIONS, site) }),
    in_use: InUse { lines: |site| luks::in_use("luks2", site), ..LUKS.in_use },
    ..LUKS
};
