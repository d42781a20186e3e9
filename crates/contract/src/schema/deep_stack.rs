//! A stack for recursion along schemas that refer to one another.

/// Of a schema that leads through tens of thousands of others, in bytes; what is not used takes no memory.
const DEEP_STACK: usize = 256 << 20;

/// Works on a thread with a deep stack, or here where the system gives none. `Err` is a panic's payload.
pub fn with_deep_stack<T: Send>(name: &str, work: impl Fn() -> T + Send + Copy) -> std::thread::Result<T> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name(name.to_owned()).stack_size(DEEP_STACK);
        match builder.spawn_scoped(scope, work) {
            Ok(thread) => thread.join(),
            Err(_) => Ok(work()),
        }
    })
}
