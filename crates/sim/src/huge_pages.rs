//! Large arrays on huge pages. A million processes take 64 MB: with pages of 4 KB that means 16,000 page faults, and
//! a TLB miss for nearly every process that runs.

/// Smaller arrays stay on ordinary pages.
const LARGE: usize = 4 << 20;

/// Makes a list of `count` items, on huge pages if it is large and the system provides them.
pub(crate) fn list_of<T>(count: usize, item: impl FnMut() -> T) -> Vec<T> {
    let mut list = Vec::with_capacity(count);
    if count.saturating_mul(size_of::<T>()) >= LARGE {
        advise(&mut list);
    }
    list.extend(std::iter::repeat_with(item).take(count));
    list
}

/// Asks for huge pages for memory that is not touched yet. Everything also works without them.
#[cfg(target_os = "linux")]
fn advise<T>(list: &mut Vec<T>) {
    let spare = list.spare_capacity_mut();
    let length = size_of_val(spare);
    // The kernel takes whole pages only.
    let start = spare.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(4096);
    if skipped >= length {
        return;
    }
    // SAFETY: the range lies inside one allocation that this list owns, and the advice changes neither what it holds nor
    // how it may be used.
    #[allow(unsafe_code)]
    let _ = unsafe {
        let first_page = start.add(skipped).cast();
        rustix::mm::madvise(first_page, (length - skipped) & !4095, rustix::mm::Advice::LinuxHugepage)
    };
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &mut Vec<T>) {}
