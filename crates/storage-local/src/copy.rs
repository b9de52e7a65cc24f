//! Copies, inside the kernel where it can: on some file systems without moving a byte.

use std::os::fd::AsFd;

use icefield_storage::{CopyOptions, Key, ObjectClass, PutOutcome, StorageError};

use crate::error;
use crate::store::{ATTEMPTS, Store};
use crate::sys::Errno;
use crate::temp::Temp;
use crate::write::Order;

impl Store {
    /// Copies an object.
    pub(crate) fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: &CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.check_writable(to)?;
        let order = Order {
            key: to.clone(),
            mode: options.mode.clone(),
            class: ObjectClass::Metadata,
        };
        let fail = |errno| error::of_place("write", to.as_str(), errno);
        for _ in 0..ATTEMPTS {
            let source = self.state(from)?;
            let version = &source.meta.version;
            if options
                .source_version
                .as_ref()
                .is_some_and(|wanted| wanted != version)
            {
                return Ok(PutOutcome::Refused);
            }
            if self.is_refused(&order)? {
                return self.refuse(&order);
            }
            let mut temp = Temp::create(self, to)?;
            match &source.small {
                Some(bytes) => temp.write(bytes).map_err(fail)?,
                None => match temp.copy_from(&source.file, source.stat.size) {
                    Ok(()) => {}
                    // The source became shorter.
                    Err(Errno::STALE) => continue,
                    Err(errno) => return Err(fail(errno)),
                },
            }
            let after = self
                .sys
                .stat(source.file.as_fd())
                .map_err(|errno| error::of_key("read", from, errno))?;
            if (after.size, after.mtime) == (source.stat.size, source.stat.mtime) {
                return self.publish(&order, &mut temp);
            }
        }
        Err(fail(Errno::AGAIN))
    }
}
