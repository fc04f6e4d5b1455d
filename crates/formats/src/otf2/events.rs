//! The events of one location, one by one.

use super::bytes::Cursor;
use super::error::Fault;
use super::ids::{event, mapping};
use super::local::LocalDefinitions;

/// A message, as its sender or its receiver saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Message {
    pub(super) peer: u32,
    pub(super) comm: u32,
    pub(super) tag: u32,
    pub(super) bytes: u64,
}

/// A collective, as one of its processes saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Collected {
    pub(super) operation: u8,
    pub(super) comm: u32,
    pub(super) root: u32,
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// The value of a parameter of a region; texts are numbers of strings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Value {
    Text(u32),
    Int(i64),
    Unsigned(u64),
}

/// An event; requests have the numbers of the archive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Enter(u32),
    Leave(u32),
    EnterContext(u32),
    LeaveContext(u32),
    Send(Message),
    Isend(Message, u64),
    IsendComplete(u64),
    IrecvRequest(u64),
    Recv(Message),
    Irecv(Message, u64),
    RequestTest(u64),
    RequestCancelled(u64),
    CollectiveBegin,
    CollectiveEnd(Collected),
    CollectiveRequest(u64),
    CollectiveComplete(Collected, u64),
    CommCreate(u32),
    CommDestroy(u32),
    Parameter(u32, Value),
    /// An event that has nothing to do with communication.
    Other,
}

impl Event {
    /// Reads the body of a record and translates local numbers to global ones.
    pub(super) fn read(id: u8, mut body: Cursor<'_>, local: &LocalDefinitions) -> Result<Event, Fault> {
        let body = &mut body;
        Ok(match id {
            event::ENTER => Event::Enter(local.map(mapping::REGION, body.u32()?)),
            event::LEAVE => Event::Leave(local.map(mapping::REGION, body.u32()?)),
            event::CALLING_CONTEXT_ENTER => {
                Event::EnterContext(local.map(mapping::CALLING_CONTEXT, body.u32()?))
            }
            event::CALLING_CONTEXT_LEAVE => {
                Event::LeaveContext(local.map(mapping::CALLING_CONTEXT, body.u32()?))
            }
            event::SEND => Event::Send(message(body, local)?),
            event::ISEND => Event::Isend(message(body, local)?, body.u64()?),
            event::ISEND_COMPLETE => Event::IsendComplete(body.u64()?),
            event::IRECV_REQUEST => Event::IrecvRequest(body.u64()?),
            event::RECV => Event::Recv(message(body, local)?),
            event::IRECV => Event::Irecv(message(body, local)?, body.u64()?),
            event::REQUEST_TEST => Event::RequestTest(body.u64()?),
            event::REQUEST_CANCELLED => Event::RequestCancelled(body.u64()?),
            event::COLLECTIVE_BEGIN => Event::CollectiveBegin,
            event::COLLECTIVE_END => Event::CollectiveEnd(collected(body, local)?),
            event::COLLECTIVE_REQUEST => Event::CollectiveRequest(body.u64()?),
            event::COLLECTIVE_COMPLETE => Event::CollectiveComplete(collected(body, local)?, body.u64()?),
            event::COMM_CREATE => Event::CommCreate(local.map(mapping::COMM, body.u32()?)),
            event::COMM_DESTROY => Event::CommDestroy(local.map(mapping::COMM, body.u32()?)),
            event::PARAMETER_STRING => {
                let parameter = local.map(mapping::PARAMETER, body.u32()?);
                Event::Parameter(parameter, Value::Text(local.map(mapping::STRING, body.u32()?)))
            }
            event::PARAMETER_INT => {
                let parameter = local.map(mapping::PARAMETER, body.u32()?);
                Event::Parameter(parameter, Value::Int(body.u64()? as i64))
            }
            event::PARAMETER_UNSIGNED => {
                let parameter = local.map(mapping::PARAMETER, body.u32()?);
                Event::Parameter(parameter, Value::Unsigned(body.u64()?))
            }
            _ => Event::Other,
        })
    }
}

/// The words of a command line, as numbers of strings.
pub(super) fn command_line(mut body: Cursor<'_>, local: &LocalDefinitions) -> Result<Vec<u32>, Fault> {
    let name = body.u32()?;
    let arguments = body.u32()?;
    let mut words = vec![local.map(mapping::STRING, name)];
    for _ in 0..arguments {
        words.push(local.map(mapping::STRING, body.u32()?));
    }
    Ok(words)
}

fn message(body: &mut Cursor<'_>, local: &LocalDefinitions) -> Result<Message, Fault> {
    let (peer, comm) = (body.u32()?, local.map(mapping::COMM, body.u32()?));
    Ok(Message { peer, comm, tag: body.u32()?, bytes: body.u64()? })
}

fn collected(body: &mut Cursor<'_>, local: &LocalDefinitions) -> Result<Collected, Fault> {
    let (operation, comm) = (body.u8()?, local.map(mapping::COMM, body.u32()?));
    Ok(Collected { operation, comm, root: body.u32()?, sent: body.u64()?, received: body.u64()? })
}
