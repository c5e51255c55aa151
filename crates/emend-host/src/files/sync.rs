//! Syncs contents to the disk. In tests, notes which files were synced, because no test simulates a power cut.

use std::io;

/// A file whose content can be synced.
pub(crate) trait SyncContent {
    /// Makes the content durable, before the file gets its name.
    fn sync_content(&self) -> io::Result<()>;
}

impl SyncContent for std::fs::File {
    fn sync_content(&self) -> io::Result<()> {
        self.sync_all()?;
        #[cfg(test)]
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let found = self.metadata()?;
            synced::note(found.ino(), found.len());
        }
        Ok(())
    }
}

impl SyncContent for cap_std::fs::File {
    fn sync_content(&self) -> io::Result<()> {
        self.sync_all()?;
        #[cfg(test)]
        #[cfg(unix)]
        {
            use cap_std::fs::MetadataExt as _;
            let found = self.metadata()?;
            synced::note(found.ino(), found.len());
        }
        Ok(())
    }
}

#[cfg(test)]
#[cfg(unix)]
pub(crate) mod synced {
    use std::cell::RefCell;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    thread_local! {
        static SYNCED: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn note(inode: u64, len: u64) {
        SYNCED.with_borrow_mut(|synced| synced.push((inode, len)));
    }

    /// Checks that this thread synced the file with its whole content.
    #[track_caller]
    pub(crate) fn check(path: &Path) {
        let found = std::fs::metadata(path).unwrap();
        let is_synced = SYNCED.with_borrow(|synced| synced.contains(&(found.ino(), found.len())));
        assert!(is_synced, "{} was not synced", path.display());
    }
}
