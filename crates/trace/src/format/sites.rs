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
}

/// A place without a description: the program did not make the call, or the place is unknown.
pub const NONE: u32 = 0;

pub fn put_module(pairs: Pairs, number: u32, module: &Module) -> Pairs {
    pairs.value(key::MODULE, |out| {
        put(out, u64::from(number));
        put(out, module.build_id.len() as u64);
        out.extend_from_slice(&module.build_id);
        out.extend_from_slice(module.path.as_bytes());
    })
}

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
            key::MODULE => {
                let (number, length) = (cursor.fitting()?, cursor.number()?);
                let build_id = cursor.slice(length)?.to_vec();
                let path = String::from_utf8_lossy(&value[cursor.position()..]).into_owned();
                self.modules.insert(number, Module { path, build_id });
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
