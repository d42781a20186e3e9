//! `--no-network`: contrail and its command run where there is no network but loopback.
//!
//! The whole process moves there before it has a second thread, since a replay needs nothing from outside.

use super::Failure;

/// Moves this process into a network namespace of its own, where only loopback is.
///
/// # Errors
///
/// The system does not allow it.
#[cfg(target_os = "linux")]
pub(super) fn enter() -> Result<(), Failure> {
    Ok(linux::enter().map_err(|error| {
        format!(
            "--no-network: this system gives no network namespace ({error}); allow it (docker run --cap-add SYS_ADMIN, \
             sysctl kernel.apparmor_restrict_unprivileged_userns=0), or leave it out"
        )
    })?)
}

/// Moves this process into a network namespace of its own, where only loopback is.
///
/// # Errors
///
/// Always: it is a mechanism of Linux.
#[cfg(not(target_os = "linux"))]
pub(super) fn enter() -> Result<(), Failure> {
    Err("--no-network needs the namespaces of Linux; leave it out".into())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{fs, io, os::fd::AsRawFd as _};

    use nix::{
        sched::{CloneFlags, unshare},
        sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket},
        unistd::{getgid, getuid},
    };

    pub(super) fn enter() -> io::Result<()> {
        // Root needs no user namespace, in which other users' files would be nobody's.
        if unshare(CloneFlags::CLONE_NEWNET).is_err() {
            let (user, group) = (getuid(), getgid());
            unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
            fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
        }
        raise_loopback()
    }

    /// Sets the flag `IFF_UP` of interface 1, which is loopback, by a message of rtnetlink(7).
    fn raise_loopback() -> io::Result<()> {
        const RTM_NEWLINK: u16 = 16;
        const REQUEST_AND_ACKNOWLEDGE: u16 = 5;
        const UP: u32 = 1;
        let mut message = Vec::with_capacity(32);
        message.extend(32_u32.to_ne_bytes());
        message.extend(RTM_NEWLINK.to_ne_bytes());
        message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
        message.extend([0; 8]); // sequence number and sender
        message.extend([0; 4]); // any family and type
        message.extend(1_u32.to_ne_bytes());
        message.extend(UP.to_ne_bytes());
        message.extend(UP.to_ne_bytes()); // what of the flags changes
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
        sendto(socket.as_raw_fd(), &message, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        // The acknowledgement is a header of 16 bytes and an error number, negative or 0.
        let mut answer = [0; 256];
        let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        match answer[..length].get(16..20).and_then(|number| number.try_into().ok()).map(i32::from_ne_bytes) {
            Some(0) => Ok(()),
            Some(number) => Err(io::Error::from_raw_os_error(-number)),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}
