//! Exports and imports a built kernel as one file: a compressed tar archive with its label, its configuration, the kernel
//! and its compiled modules, in this order, in one folder of its name.
//!
//! A package is untrusted: it must hold exactly three regular files of bounded sizes with the expected names, and those
//! modules that its label names; no path in it is followed. The digests detect damage; they do not authenticate the author.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Component, Path};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use rustix::fs::{CWD, OFlags};
use serde::{Deserialize, Serialize};
use tar::{Archive, Builder, Entry, EntryType, Header};
use xxhash_rust::xxh3::Xxh3Default;

use super::attendant::{Attendant, require_passed_import};
use super::cache::{
    CONFIG, KERNEL, KernelCache, KernelEntry, KernelFacts, LARGEST_CONFIG, LARGEST_FACTS, LARGEST_KERNEL,
};
use super::error::{KernelBuildError, PackageFault, file_error, read_free_bytes};
use super::module_build::LARGEST_MODULE;
use super::module_table::{KernelModule, MODULES, find_module};
use super::outcome::Subject;
use super::source::is_release;
use super::staged::StagedSources;
use fsverdict_folders::{Existing, OutputFile};
use fsverdict_folders::{Links, open_regular};
use fsverdict_linux::host::foreign::neutralise;

/// The first member of a package.
const LABEL: &str = "kernel.json";
/// Another one has another meaning. Kernels without modules have the first.
const SCHEMAS: [u32; 2] = [1, 2];
/// Bytes of a block of a tar archive.
const BLOCK: usize = 512;
/// Bytes of all modules: those of Linux 6.12 have some 15 MiB.
const LARGEST_MODULES: u64 = 256 << 20;
/// Bytes that stay free where a kernel is taken over.
const MARGIN: u64 = 64 << 20;

/// The label: describes the other members of a package.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Label {
    schema: u32,
    facts: KernelFacts,
    config: PackagePart,
    linux: PackagePart,
    /// Its modules by their names, in the order of their files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    modules: BTreeMap<String, PackagePart>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PackagePart {
    bytes: u64,
    /// XXH3 of 128 bits, in 32 hexadecimal digits.
    xxh3: String,
}

/// Writes the kernel of this name into a new file, and says which it was.
///
/// # Errors
/// When there is no such kernel, or the file is there already or cannot be written.
pub fn export_kernel(cache: &KernelCache, name: &str, path: &Path) -> Result<KernelEntry, KernelBuildError> {
    let entry = cache.find_kernel(name)?;
    if entry.facts.zfs.is_some() {
        return Err(KernelBuildError::NotExported { name: entry.name });
    }
    let read = || file_error("read", &entry.kernel);
    let config =
        entry.read_configuration().map_err(file_error("read the configuration beside", &entry.kernel))?;
    let kernel = || open_regular(CWD, &entry.kernel, OFlags::RDONLY, Links::Follow);
    let linux = measure_content(kernel().map_err(read())?, LARGEST_KERNEL).map_err(read())?;
    // How it did, it did on this machine.
    let facts = KernelFacts { trial: None, imported: None, ..entry.facts.clone() };
    let built = entry.find_modules().map_or(Vec::new(), |modules| modules.divide_by_compiled().0);
    let folder = entry.kernel.with_file_name(MODULES);
    let open_module = |module: &KernelModule| {
        open_regular(CWD, &folder.join(module.file_name()), OFlags::RDONLY, Links::Follow)
    };
    let measure_module = |module: &&KernelModule| {
        let part = open_module(module).and_then(|opened| measure_content(opened, LARGEST_MODULE));
        Ok((module.name.to_owned(), part.map_err(file_error("read", &folder.join(module.file_name())))?))
    };
    let modules = built.iter().map(measure_module).collect::<Result<BTreeMap<_, _>, KernelBuildError>>()?;
    let label = Label {
        schema: SCHEMAS[usize::from(!modules.is_empty())],
        modules,
        config: measure_content(config.as_slice(), LARGEST_CONFIG).map_err(read())?,
        linux,
        facts,
    };
    let write = || -> std::io::Result<()> {
        let output = OutputFile::create(path, Existing::Keep)?;
        let label_text = serde_json::to_vec_pretty(&label)?;
        let mut archive = Builder::new(GzEncoder::new(BufWriter::new(output.file()), Compression::default()));
        let mut append = |name: &str, bytes: u64, mode: u32, content: &mut dyn Read| {
            let mut header = Header::new_ustar();
            header.set_size(bytes);
            header.set_mode(mode);
            archive.append_data(&mut header, Path::new(&entry.name).join(name), content)
        };
        append(LABEL, label_text.len() as u64, 0o644, &mut label_text.as_slice())?;
        append(CONFIG, label.config.bytes, 0o644, &mut config.as_slice())?;
        append(KERNEL, label.linux.bytes, 0o755, &mut kernel()?)?;
        for (name, part) in &label.modules {
            let Some(module) = built.iter().find(|module| module.name == name) else { continue };
            append(&module.file_name(), part.bytes, 0o644, &mut open_module(module)?)?;
        }
        archive.into_inner()?.finish()?.flush()?;
        output.finish()
    };
    write().map_err(file_error("write", path))?;
    Ok(entry)
}

/// Imports an exported kernel into the cache, after a trial.
///
/// # Errors
/// When the file is no such package, or is damaged; when there is a kernel of its name; when it fails its trial.
pub fn import_kernel(
    cache: &KernelCache,
    path: &Path,
    attendant: &mut dyn Attendant,
) -> Result<KernelEntry, KernelBuildError> {
    let wrong = |fault: PackageFault| KernelBuildError::NotAPackage { path: path.to_owned(), fault };
    let io = |error: std::io::Error| wrong(error.into());
    let opened = open_regular(CWD, path, OFlags::RDONLY, Links::Follow).map_err(file_error("read", path))?;
    let longest = LARGEST_FACTS + LARGEST_CONFIG + LARGEST_KERNEL + LARGEST_MODULES + (1 << 20);
    let mut archive = Archive::new(GzDecoder::new(BufReader::new(opened)).take(longest));
    // As they are: else names longer than a header would be read into memory, however long.
    let mut entries = archive.entries().map_err(io)?.raw(true);
    let mut next = |name: &str, longest: u64| {
        let entry =
            entries.next().ok_or_else(|| wrong(PackageFault::Truncated(name.to_owned())))?.map_err(io)?;
        let folder = expected_folder(&entry, name, longest).map_err(wrong)?;
        Ok::<_, KernelBuildError>((entry, folder))
    };
    let (mut entry, folder) = next(LABEL, LARGEST_FACTS)?;
    let mut text = Vec::new();
    entry.read_to_end(&mut text).map_err(io)?;
    let label: Label =
        serde_json::from_slice(&text).map_err(|error| wrong(PackageFault::Label(LABEL, error)))?;
    let mut facts = validate_label(&label, &folder).map_err(wrong)?;
    let name = facts.entry_name();
    if cache.list_kernels().iter().any(|entry| entry.name == name) {
        return Err(KernelBuildError::There { name });
    }
    let of_it = |folder: String| {
        if folder == name { Ok(()) } else { Err(wrong(PackageFault::SecondFolder(name.clone()))) }
    };

    let (entry, folder) = next(CONFIG, LARGEST_CONFIG)?;
    of_it(folder)?;
    let mut config = Vec::new();
    let mut measuring = MeasuringReader::new(entry);
    measuring.read_to_end(&mut config).map_err(io)?;
    measuring.require_match(&label.config, CONFIG).map_err(wrong)?;

    let (entry, folder) = next(KERNEL, LARGEST_KERNEL)?;
    of_it(folder)?;
    std::fs::create_dir_all(&cache.own).map_err(file_error("make", &cache.own))?;
    let room = read_free_bytes(&cache.own).map_err(file_error("look at the disk of", &cache.own))?;
    if room < entry.size().saturating_add(MARGIN) {
        return Err(KernelBuildError::disk_full("take over a kernel", &cache.own));
    }
    let staged = StagedSources::create_folder(cache, &name)?;
    let mut measuring = MeasuringReader::new(entry);
    staged.put_kernel(&mut measuring).map_err(|error| match error {
        // Reading failed or the archive ended early; not a fault of the cache.
        KernelBuildError::File { source, .. } => io(source),
        other => other,
    })?;
    measuring.require_match(&label.linux, KERNEL).map_err(wrong)?;
    if !label.modules.is_empty() {
        let folder = staged.create_module_folder()?;
        for (name, part) in &label.modules {
            let module =
                find_module(name).ok_or_else(|| wrong(PackageFault::UnknownModule(neutralise(name))))?;
            let (entry, of) = next(&module.file_name(), LARGEST_MODULE)?;
            of_it(of)?;
            let mut measuring = MeasuringReader::new(entry);
            let path = folder.join(module.file_name());
            let mut copy = |file: &mut std::fs::File| std::io::copy(&mut measuring, file);
            std::fs::File::create_new(&path).and_then(|mut file| copy(&mut file)).map_err(io)?;
            measuring.require_match(part, module.name).map_err(wrong)?;
        }
    }
    if entries.next().is_some() {
        return Err(wrong(PackageFault::TooManyFiles([LABEL, CONFIG, KERNEL])));
    }
    require_end(archive.into_inner().into_inner()).map_err(wrong)?;
    staged.put_config(&config)?;

    let subject = Subject { kernel: &staged.kernel_path(), release: &facts.release, config: &config };
    let (trial, record) = attendant.try_out(subject);
    facts.trial = Some(require_passed_import(trial, &name, &record)?);
    facts.imported = Some(jiff::Timestamp::now());
    staged.move_into_cache(cache, &facts)
}

/// Requires the bytes that `export_kernel` writes behind the last file, and no byte more: of the two blocks of zeros that end an
/// archive, the second, since the first has been read; then the checksum, and the end of the file.
fn require_end(mut archive: GzDecoder<impl BufRead>) -> Result<(), PackageFault> {
    let mut rest = Vec::new();
    // One byte more shows whether there is more; reading to the end verifies the checksum.
    archive.by_ref().take(BLOCK as u64 + 1).read_to_end(&mut rest)?;
    if rest != [0; BLOCK] {
        return Err(PackageFault::EndsLate);
    }
    if archive.into_inner().read(&mut [0])? > 0 {
        return Err(PackageFault::Trailing);
    }
    Ok(())
}

/// Checks the facts of a label before they are used: their text is shown to users, and the kernel's name becomes a
/// folder.
fn validate_label(label: &Label, folder: &str) -> Result<KernelFacts, PackageFault> {
    let Label { schema, facts, .. } = label;
    if !SCHEMAS.contains(schema) {
        return Err(PackageFault::Schema(*schema, SCHEMAS[1]));
    }
    let is_digest = |text: &str| {
        text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    if !is_release(&facts.release) || !is_digest(&facts.digest) {
        return Err(PackageFault::Identity);
    }
    if facts.zfs.is_some() {
        return Err(PackageFault::Zfs);
    }
    if facts.entry_name() != folder {
        return Err(PackageFault::OtherFolder(facts.entry_name()));
    }
    let all = |texts: &[String]| texts.iter().map(|text| neutralise(text)).collect();
    Ok(KernelFacts {
        release: facts.release.clone(),
        digest: facts.digest.clone(),
        source: neutralise(&facts.source.to_string_lossy()).into(),
        patches: all(&facts.patches),
        refused: all(&facts.refused),
        compiler: neutralise(&facts.compiler),
        built: facts.built,
        counting: facts.counting,
        zfs: facts.zfs.clone(),
        trial: None,
        imported: None,
    })
}

/// Checks that an archive entry is the expected file; returns its folder, or the fault of the entry.
fn expected_folder(entry: &Entry<'_, impl Read>, name: &str, longest: u64) -> Result<String, PackageFault> {
    let path = entry.path()?;
    let shown: String = neutralise(&path.to_string_lossy()).chars().take(200).collect();
    let parts: Vec<Component<'_>> = path.components().collect();
    let folder = match parts.as_slice() {
        [Component::Normal(folder), Component::Normal(file)] if *file == name => folder.to_str(),
        _ => None,
    };
    let folder =
        folder.ok_or_else(|| PackageFault::Misplaced { shown: shown.clone(), expected: name.to_owned() })?;
    if entry.header().entry_type() != EntryType::Regular {
        return Err(PackageFault::NotFile(shown));
    }
    if entry.size() > longest {
        return Err(PackageFault::TooLarge { shown, longest });
    }
    Ok(folder.to_owned())
}

/// A reader that counts and digests the bytes that pass through it.
struct MeasuringReader<R> {
    inner: R,
    digest: Xxh3Default,
    bytes: u64,
}

impl<R: Read> MeasuringReader<R> {
    fn new(inner: R) -> Self {
        MeasuringReader { inner, digest: Xxh3Default::new(), bytes: 0 }
    }

    fn measured_part(&self) -> PackagePart {
        PackagePart { bytes: self.bytes, xxh3: format!("{:032x}", self.digest.digest128()) }
    }

    fn require_match(&self, said: &PackagePart, name: &'static str) -> Result<(), PackageFault> {
        if self.measured_part() == *said { Ok(()) } else { Err(PackageFault::Digest(name)) }
    }
}

impl<R: Read> Read for MeasuringReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.digest.update(buffer.get(..count).unwrap_or_default());
        self.bytes += count as u64;
        Ok(count)
    }
}

fn measure_content(content: impl Read, most: u64) -> std::io::Result<PackagePart> {
    let mut measuring = MeasuringReader::new(content.take(most + 1));
    std::io::copy(&mut measuring, &mut std::io::sink())?;
    if measuring.bytes > most {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "no package would take it"));
    }
    Ok(measuring.measured_part())
}
