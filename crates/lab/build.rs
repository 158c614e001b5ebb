//! Lists the processor models in `models/cpu`, so that a new file there is all that a new model takes.

use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=models/cpu");
    let folder = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo sets CARGO_MANIFEST_DIR")?)
        .join("models/cpu");
    let mut models: Vec<(String, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
        {
            models.push((name.to_owned(), path));
        }
    }
    models.sort();
    let entries: String = models
        .iter()
        .map(|(name, path)| format!("ShippedProcessor {{ name: {name:?}, toml: include_str!({path:?}) }},\n"))
        .collect();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    std::fs::write(out.join("models.rs"), format!("&[\n{entries}]"))?;
    Ok(())
}
