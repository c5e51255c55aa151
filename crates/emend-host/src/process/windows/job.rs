//! Job objects: groups of processes that the kernel ends together.
//!
//! Every process that a member of a job starts is a member, too, and none can leave it. The kernel ends all members when
//! the last handle of the job is closed, so also when this process is killed.

use std::io;
use std::mem;
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle};
use std::os::windows::process::CommandExt as _;
use std::process::{Child, Command};
use std::ptr;

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectBasicAccountingInformation,
    JobObjectExtendedLimitInformation, QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NO_WINDOW, CREATE_SUSPENDED, OpenThread, ResumeThread, THREAD_SUSPEND_RESUME,
};

/// A job whose processes end when it is dropped.
#[derive(Debug)]
pub(super) struct Job(OwnedHandle);

/// Returns the size of a structure as Windows expects it.
fn size_of<T>() -> u32 {
    u32::try_from(mem::size_of::<T>()).unwrap_or(u32::MAX)
}

fn check(success: i32) -> io::Result<()> {
    if success == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[expect(unsafe_code, reason = "the standard library has no job objects")]
impl Job {
    /// Returns an empty job.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: both pointers may be null; the handle is owned by nothing else.
        let job = unsafe {
            let handle = CreateJobObjectW(ptr::null(), ptr::null());
            if handle.is_null() {
                return Err(io::Error::last_os_error());
            }
            Self(OwnedHandle::from_raw_handle(handle))
        };
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        let size = size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>();
        // SAFETY: the pointer refers to a structure of the kind and size that are named.
        check(unsafe {
            SetInformationJobObject(job.handle(), JobObjectExtendedLimitInformation, (&raw const limits).cast(), size)
        })?;
        Ok(job)
    }

    fn handle(&self) -> HANDLE {
        self.0.as_raw_handle()
    }

    /// Starts a process as a member of the job, without a window and with a console of its own.
    pub(super) fn start(&self, command: &mut Command) -> io::Result<Child> {
        // It must be a member before it can start others.
        let mut child = command.creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW).spawn()?;
        // SAFETY: both handles are open.
        let member = check(unsafe { AssignProcessToJobObject(self.handle(), child.as_raw_handle()) });
        if let Err(error) = member.and_then(|()| resume(child.id())) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        Ok(child)
    }

    /// Returns the number of living processes, or 0 if the system does not tell.
    pub(super) fn n_processes(&self) -> usize {
        let mut found = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        let size = size_of::<JOBOBJECT_BASIC_ACCOUNTING_INFORMATION>();
        let (kind, target) = (JobObjectBasicAccountingInformation, (&raw mut found).cast());
        // SAFETY: the pointer refers to a structure of the kind and size that are named; the last one may be null.
        let told = check(unsafe { QueryInformationJobObject(self.handle(), kind, target, size, ptr::null_mut()) });
        told.map_or(0, |()| usize::try_from(found.ActiveProcesses).unwrap_or(usize::MAX))
    }

    /// Ends all processes; they get the exit status `code`.
    pub(super) fn end(&self, code: u32) {
        // An error means that no process is left.
        // SAFETY: the handle is open.
        let _ = unsafe { TerminateJobObject(self.handle(), code) };
    }
}

/// Resumes all threads of a process that was started suspended.
#[expect(unsafe_code, reason = "the standard library does not tell the thread of a process")]
fn resume(process: u32) -> io::Result<()> {
    let mut entry = THREADENTRY32 { dwSize: size_of::<THREADENTRY32>(), ..THREADENTRY32::default() };
    // SAFETY: the handles are checked before they are used and owned by nothing else; `entry` names its own size.
    unsafe {
        let snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
        if snapshot.addr() == usize::MAX {
            return Err(io::Error::last_os_error());
        }
        let snapshot = OwnedHandle::from_raw_handle(snapshot);
        let mut n_resumed = 0;
        let mut is_found = Thread32First(snapshot.as_raw_handle(), &raw mut entry) != 0;
        while is_found {
            if entry.th32OwnerProcessID == process {
                let thread = OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID);
                if thread.is_null() {
                    return Err(io::Error::last_os_error());
                }
                let thread = OwnedHandle::from_raw_handle(thread);
                if ResumeThread(thread.as_raw_handle()) == u32::MAX {
                    return Err(io::Error::last_os_error());
                }
                n_resumed += 1;
            }
            is_found = Thread32Next(snapshot.as_raw_handle(), &raw mut entry) != 0;
        }
        if n_resumed == 0 { Err(io::Error::other("the thread of the new process was not found")) } else { Ok(()) }
    }
}
