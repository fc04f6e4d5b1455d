//! How a stream describes call sites: a module when one of its places first occurs, then the place.

use super::varint::{Cursor, Cut, put};
use super::write::Pairs;
use crate::sites::{CallSite, Module};
use std::collections::HashMap;

/// Keys of a block that describes call sites.
pub mod key {
    /// The stream's number for the module, the length of its build id, the build id, its path.
    pub const MODULE: u64 = 1;
    /// The stream's number for the place (from 1), the number of its module, the offset.
    pub const SITE: u64 = 2;
    /// A module that is a function in a source file: its number, the length of the function's name, the name, the path.
    pub const SOURCE: u64 = 3;
}

/// A place without a description: the program did not make the call, or the place is unknown.
pub const NONE: u32 = 0;

/// Describes a module, which call sites refer to by this number.
pub fn put_module(pairs: Pairs, number: u32, module: &Module) -> Pairs {
    let (key, first) = match &module.function {
        Some(function) => (key::SOURCE, function.as_bytes()),
        None => (key::MODULE, module.build_id.as_slice()),
    };
    pairs.value(key, |out| {
        put(out, u64::from(number));
        put(out, first.len() as u64);
        out.extend_from_slice(first);
        out.extend_from_slice(module.path.as_bytes());
    })
}

/// Describes a call site, which calls refer to by this number.
pub fn put_site(pairs: Pairs, number: u32, site: CallSite) -> Pairs {
    pairs.value(key::SITE, |out| {
        put(out, u64::from(number));
        put(out, u64::from(site.module));
        put(out, site.offset);
    })
}

/// What a stream has described, by the stream's own numbers.
#[derive(Clone, Debug, Default)]
pub struct Described {
    modules: HashMap<u32, Module>,
    sites: HashMap<u32, CallSite>,
}

impl Described {
    pub fn get(&self, site: u32) -> Option<(&Module, u64)> {
        let site = self.sites.get(&site)?;
        Some((self.modules.get(&site.module)?, site.offset))
    }

    pub(super) fn read(&mut self, key: u64, value: &[u8]) -> Result<(), Cut> {
        let mut cursor = Cursor::new(value);
        match key {
            key::MODULE | key::SOURCE => {
                let (number, length) = (cursor.fitting()?, cursor.number()?);
                let first = cursor.slice(length)?.to_vec();
                let path = String::from_utf8_lossy(&value[cursor.position()..]).into_owned();
                let module = match key {
                    key::MODULE => Module { path, build_id: first, function: None },
                    _ => {
                        let function = Some(String::from_utf8_lossy(&first).into_owned());
                        Module { path, function, build_id: Vec::new() }
                    }
                };
                self.modules.insert(number, module);
            }
            key::SITE => {
                let (number, module, offset) = (cursor.fitting()?, cursor.fitting()?, cursor.number()?);
                self.sites.insert(number, CallSite { module, offset });
            }
            _ => {}
        }
        Ok(())
    }
}
