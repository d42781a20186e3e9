//! Fakes and helpers shared by the promises.

pub mod cases;
pub mod command;
pub mod golden;
pub mod har;
pub mod process;
pub mod reports;
pub mod tenant;
pub mod tls;
pub mod wire;
