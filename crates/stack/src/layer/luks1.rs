//! LUKS version 1.

use super::luks::{self, LUKS};
use super::model::{InUse, Layer, LayerLine};

const OPTIONS: &[&str] = &["--pbkdf-force-iterations", "1000"];

pub(super) static LUKS1: Layer = Layer {
    name: "luks1",
    summary: "LUKS version 1 through dm-crypt: aes-xts-plain64 with a 512-bit key, always in sectors of 512 bytes. Key derivation \
              takes the fewest iterations allowed, so that it is not what is timed; discards pass through. cipher=NAME and key=BITS may follow its name.",
    header: 2 << 20,
    make: Some(LayerLine { step: "encrypt", argv: |site| luks::format_command("luks1", OPTIONS, site) }),
    in_use: InUse { lines: |site| luks::in_use("luks1", site), ..LUKS.in_use },
    ..LUKS
};
