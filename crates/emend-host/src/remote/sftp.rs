//! Steps on files by the file protocol of SSH, many of them under way at the same time.
//!
//! The protocol opens a path as a whole, so a link in it is followed. Therefore a file that was opened counts only if the
//! entry at its path still looks the same afterwards and is not a link.

use std::io::SeekFrom;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use emend_agent::environment::FilePath;
use futures::stream::{self, StreamExt as _};
use openssh_sftp_client::Sftp;
use openssh_sftp_client::error::{Error as SftpError, SftpErrorKind};
use openssh_sftp_client::metadata::{MetaData, MetaDataBuilder, Permissions};
use tokio::io::AsyncSeek as _;

use super::exec_files::ExecFiles;
use super::far::{Attributes, Far, FarError, Found, Kind, Listed, temporary_name};
use super::ssh::Ssh;

/// Number of steps under way at the same time.
const AT_ONCE: usize = 32;
/// Bytes of one request to read. Servers may answer with less.
const PIECE_BYTES: u32 = 1 << 18;
/// Attempts to read a file that changes meanwhile.
const ATTEMPTS: usize = 3;

/// The files below one directory of a host.
pub(super) struct SftpFiles {
    pub(super) ssh: Arc<Ssh>,
    /// The root without a slash at its end, so empty for `/`.
    pub(super) prefix: String,
    /// Marks the temporary files of this process.
    pub(super) run: u64,
    /// Temporary files of writes during which the connection was lost.
    pub(super) abandoned: std::sync::Mutex<Vec<String>>,
    /// Lists directories whose lists the client of the protocol cannot read.
    pub(super) scripts: ExecFiles,
    /// Whether there is such a directory.
    pub(super) needs_scripts: AtomicBool,
}

impl SftpFiles {
    fn absolute(&self, path: &FilePath) -> String {
        if path.is_root() && !self.prefix.is_empty() {
            return self.prefix.clone();
        }
        format!("{}/{}", self.prefix, path.as_str())
    }

    /// Calls `work` for each path and returns the results in order. All share the error of a lost connection.
    fn each<T>(
        &self,
        paths: &[FilePath],
        work: impl AsyncFn(&Sftp, String) -> Result<T, SftpError>,
    ) -> Vec<Result<T, FarError>> {
        let done = self.ssh.call(async |sftp| {
            let steps = paths.iter().map(|path| work(sftp, self.absolute(path)));
            let results: Vec<Result<T, SftpError>> = stream::iter(steps).buffered(AT_ONCE).collect().await;
            // An error that is not the server's answer is about the connection.
            let (mut answers, mut lost) = (Vec::with_capacity(results.len()), None);
            for result in results {
                match result {
                    Err(error @ SftpError::SftpError(..)) => answers.push(Err(described(&error))),
                    Err(error) => lost = Some(error),
                    Ok(value) => answers.push(Ok(value)),
                }
            }
            lost.map_or(Ok(answers), Err)
        });
        match done {
            Ok(Ok(answers)) => answers,
            Ok(Err(error)) => paths.iter().map(|_| Err(described(&error))).collect(),
            Err(error) => paths.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    fn one<T>(&self, work: impl AsyncFnOnce(&Sftp) -> Result<T, SftpError>) -> Result<T, FarError> {
        self.ssh.call(work)?.map_err(|error| described(&error))
    }

    fn list_by_protocol(&self, directories: &[FilePath]) -> Result<Vec<Listed>, FarError> {
        let listed = self.each(directories, async |sftp, path| {
            let mut entries = Vec::new();
            let mut stream = std::pin::pin!(sftp.fs().open_dir(&path).await?.read_dir());
            while let Some(entry) = stream.next().await {
                let entry = entry?;
                let name = entry.filename().to_str().filter(|name| !matches!(*name, "." | "..") && !name.contains('/'));
                entries.extend(name.map(|name| (name.to_owned(), to_found(&entry.metadata()))));
            }
            Ok(entries)
        });
        let readable = |listed| match listed {
            Ok(entries) => Ok(Some(entries)),
            Err(error @ FarError::Lost(_)) => Err(error),
            Err(_) => Ok(None),
        };
        listed.into_iter().map(readable).collect()
    }

    /// Removes the temporary files that lost connections left.
    fn remove_abandoned(&self) {
        let abandoned = std::mem::take(&mut *self.abandoned.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        for path in abandoned {
            if let Err(FarError::Lost(_)) = self.one(async |sftp| sftp.fs().remove_file(&path).await) {
                self.abandoned.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(path);
            }
        }
    }
}

impl Far for SftpFiles {
    fn look(&self, paths: &[FilePath]) -> Vec<Result<Option<Found>, FarError>> {
        let looked = self.each(paths, async |sftp, path| {
            let mut found = to_found(&sftp.fs().symlink_metadata(&path).await?);
            if matches!(found.kind, Kind::Link(_)) {
                let target = sftp.fs().read_link(&path).await?;
                found.kind = Kind::Link(target.to_str().map(str::to_owned));
            }
            Ok(found)
        });
        let present = |found: Result<Found, FarError>| match found {
            Ok(found) => Ok(Some(found)),
            Err(FarError::Missing) => Ok(None),
            Err(error) => Err(error),
        };
        looked.into_iter().map(present).collect()
    }

    fn list(&self, directories: &[FilePath]) -> Result<Vec<Listed>, FarError> {
        // The client gives the connection up at a name that is not UTF-8. A second attempt tells that from a connection that
        // broke by itself; scripts leave the name out.
        for _ in 0..2 {
            if self.needs_scripts.load(Ordering::Relaxed) {
                break;
            }
            match self.list_by_protocol(directories) {
                Err(FarError::Lost(_)) => {}
                done => return done,
            }
        }
        let listed = self.scripts.list(directories)?;
        self.needs_scripts.store(true, Ordering::Relaxed);
        Ok(listed)
    }

    fn read(&self, paths: &[FilePath], n_bytes_max: u64) -> Vec<Result<Vec<u8>, FarError>> {
        let read = self.each(paths, async |sftp, path| {
            for _ in 0..ATTEMPTS {
                if let Some(content) = read_once(sftp, &path, n_bytes_max).await? {
                    return Ok(Some(content));
                }
            }
            Ok(None)
        });
        let changing = || FarError::Other("it changes while it is read".to_owned());
        read.into_iter().map(|content| content?.ok_or_else(changing)).collect()
    }

    fn put(&self, path: &FilePath, content: &[u8], attributes: Attributes) -> Result<(), FarError> {
        self.remove_abandoned();
        let target = self.absolute(path);
        let above = target.rsplit_once('/').map_or("", |(above, _)| above);
        let temporary = format!("{above}/{}", temporary_name(path.name(), self.run));
        let done = self.one(async |sftp| {
            if !sftp.support_posix_rename() {
                return Err(SftpError::UnsupportedExtension(&RENAME));
            }
            if attributes.replaces {
                // A rename needs no write permission on the replaced file, so it is checked here.
                sftp.options().write(true).open(&target).await?.close().await?;
            }
            let written = write_new(sftp, &temporary, content, attributes).await;
            let renamed = match written {
                Ok(()) => sftp.fs().rename(&temporary, &target).await,
                Err(error) => Err(error),
            };
            if let Err(SftpError::SftpError(..)) = renamed {
                // The first error is the one to report.
                let _ = sftp.fs().remove_file(&temporary).await;
            }
            renamed
        });
        if let Err(FarError::Lost(_)) = done {
            self.abandoned.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(temporary);
        }
        done
    }

    fn make_directory(&self, path: &FilePath) -> Result<(), FarError> {
        let path = self.absolute(path);
        self.one(async |sftp| match sftp.fs().create_dir(&path).await {
            // The protocol has no code for a name that is taken.
            Err(SftpError::SftpError(SftpErrorKind::Failure, said)) => {
                let is_there = to_found(&sftp.fs().symlink_metadata(&path).await?).kind == Kind::Directory;
                if is_there { Ok(()) } else { Err(SftpError::SftpError(SftpErrorKind::Failure, said)) }
            }
            done => done,
        })
    }

    fn remove_file(&self, path: &FilePath) -> Result<(), FarError> {
        let path = self.absolute(path);
        self.one(async |sftp| sftp.fs().remove_file(&path).await)
    }

    fn remove_directory(&self, path: &FilePath) -> Result<(), FarError> {
        let path = self.absolute(path);
        self.one(async |sftp| sftp.fs().remove_dir(&path).await)
    }
}

/// Name of the extension without which a file cannot be replaced in one step.
static RENAME: &str = "posix-rename@openssh.com";

/// Writes a new file, complete and synced.
async fn write_new(sftp: &Sftp, path: &str, content: &[u8], attributes: Attributes) -> Result<(), SftpError> {
    let mut file = sftp.options().write(true).create_new(true).open(path).await?;
    if let Some(owner) = attributes.owner {
        // Permitted to root only, and needed for root only. It comes before the mode, because it clears some bits.
        let _ = file.set_metadata(MetaDataBuilder::new().id(owner).create()).await;
    }
    if let Some(mode) = attributes.mode
        && let Ok(mode) = u16::try_from(mode)
    {
        file.set_permissions(Permissions::from(mode)).await?;
    }
    file.write_all(content).await?;
    if sftp.support_fsync() {
        file.sync_all().await?;
    }
    file.close().await
}

/// Reads a file; `None` if the file at the path is another one than the opened one, or has changed.
async fn read_once(sftp: &Sftp, path: &str, n_bytes_max: u64) -> Result<Option<Vec<u8>>, SftpError> {
    // Checked before opening, because opening a device can have an effect or block.
    if to_found(&sftp.fs().symlink_metadata(path).await?).kind != Kind::File {
        return Ok(None);
    }
    let mut file = sftp.options().read(true).open(path).await?;
    let opened = to_found(&file.metadata().await?);
    if opened != to_found(&sftp.fs().symlink_metadata(path).await?) || opened.kind != Kind::File {
        return Ok(None);
    }
    let n_bytes = crate::files::bytes_to_read(opened.size).min(n_bytes_max);
    let mut content = Vec::with_capacity(usize::try_from(opened.size.min(n_bytes)).unwrap_or_default());
    while (content.len() as u64) < n_bytes {
        let offset = content.len() as u64;
        // The position after a short answer is wrong otherwise.
        Pin::new(&mut file).start_seek(SeekFrom::Start(offset))?;
        let n_wanted = u32::try_from(n_bytes - offset).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        match file.read(n_wanted, bytes::BytesMut::new()).await? {
            Some(piece) if !piece.is_empty() => content.extend_from_slice(&piece),
            _ => break,
        }
    }
    file.close().await?;
    Ok(Some(content))
}

fn to_found(metadata: &MetaData) -> Found {
    let kind = match metadata.file_type() {
        Some(kind) if kind.is_file() => Kind::File,
        Some(kind) if kind.is_dir() => Kind::Directory,
        Some(kind) if kind.is_symlink() => Kind::Link(None),
        _ => Kind::Special,
    };
    let modified_s = metadata.modified().map_or(0, |time| u64::from(time.into_raw()));
    let mode = metadata.permissions().map_or(0, |mode| mode.as_raw().bits());
    Found {
        kind,
        size: metadata.len().unwrap_or_default(),
        modified_s,
        mode,
        owner: metadata.uid().zip(metadata.gid()),
        n_links: None,
    }
}

fn described(error: &SftpError) -> FarError {
    match error {
        SftpError::SftpError(SftpErrorKind::NoSuchFile, _) => FarError::Missing,
        SftpError::SftpError(SftpErrorKind::PermDenied, _) => FarError::Denied,
        SftpError::SftpError(SftpErrorKind::BadMessage, _) => FarError::Unfit("the name is not valid there".to_owned()),
        SftpError::SftpError(SftpErrorKind::OpUnsupported, _) | SftpError::UnsupportedExtension(_) => {
            FarError::Unsupported("replacing a file in one step (an extension of the SFTP server)")
        }
        SftpError::SftpError(_, said) => FarError::Other(format!("the server answers: {said}")),
        error => FarError::Lost(format!("the connection was lost: {error}")),
    }
}
