//! Publish and subscribe: <https://redis.io/docs/latest/commands/?group=pubsub>. There is no cluster: the channels of shards are
//! channels of another kind.

use super::flags::Flags;
use super::help::{help, wrong_subcommand};
use super::keyspec::KeySpec;
use super::options::length;
use super::{Command, Group, Run};
use crate::error::{Error, Result};
use crate::glob;
use crate::resp::reply::Reply;
use crate::session::{Session, Topic};
use bytes::Bytes;

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    subscription("psubscribe", -2, KeySpec::None, "2.0.0", "Subscribes to all channels that match patterns.", psubscribe),
    row("publish", 3, PUBLISH, "2.0.0", "Sends a message to a channel.", publish),
    Command::container(Group::PubSub, "pubsub", "2.8.0", "A container for commands about subscriptions.", SUBCOMMANDS),
    subscription("punsubscribe", -1, KeySpec::None, "2.0.0", "Ends subscriptions to patterns.", punsubscribe),
    Command { keys: KeySpec::FIRST, ..row("spublish", 3, PUBLISH, "7.0.0", "Sends a message to a channel of a shard.", spublish) },
    subscription("ssubscribe", -2, KeySpec::ALL, "7.0.0", "Subscribes to channels of shards.", ssubscribe),
    subscription("subscribe", -2, KeySpec::None, "2.0.0", "Subscribes to channels.", subscribe),
    subscription("sunsubscribe", -1, KeySpec::ALL, "7.0.0", "Ends subscriptions to channels of shards.", sunsubscribe),
    subscription("unsubscribe", -1, KeySpec::None, "2.0.0", "Ends subscriptions to channels.", unsubscribe),
];

const SUBCOMMANDS: &[Command] = &[
    row("pubsub|channels", -2, ASK, "2.8.0", "Lists the channels that have subscribers.", channels),
    row("pubsub|help", 2, Flags::LOADING.and(Flags::STALE), "6.2.0", "Lists the subcommands.", help),
    row("pubsub|numpat", 2, ASK, "2.8.0", "Counts the patterns that have subscribers.", count_patterns),
    row("pubsub|numsub", -2, ASK, "2.8.0", "Counts the subscribers of channels.", count_subscribers),
    row("pubsub|shardchannels", -2, ASK, "7.0.0", "Lists the channels of shards that have subscribers.", shard_channels),
    row("pubsub|shardnumsub", -2, ASK, "7.0.0", "Counts the subscribers of channels of shards.", count_shard_subscribers),
];

const ASK: Flags = Flags::PUBSUB.and(Flags::LOADING).and(Flags::STALE);
const PUBLISH: Flags = ASK.and(Flags::FAST);

type Handler = fn(&mut Session, &[Bytes], &mut Reply) -> Result<()>;

const fn row(name: &'static str, arity: i32, flags: Flags, since: &'static str, summary: &'static str, run: Handler) -> Command {
    Command::without_keys(Group::PubSub, name, arity, flags, since, summary, Run::Session(run))
}

const fn subscription(name: &'static str, arity: i32, keys: KeySpec, since: &'static str, summary: &'static str, run: Handler) -> Command {
    let flags = ASK.and(Flags::NOSCRIPT);
    Command { keys, run: Run::Subscription(run), ..row(name, arity, flags, since, summary, run) }
}

/// What a subscription of a topic is counted with: channels and patterns are counted together.
const fn counted(topic: Topic) -> &'static [Topic] {
    match topic {
        Topic::Channel | Topic::Pattern => &[Topic::Channel, Topic::Pattern],
        Topic::ShardChannel => &[Topic::ShardChannel],
    }
}

/// Says what has been done with one subscription, and how many the connection has now.
fn acknowledge(session: &mut Session, reply: &mut Reply, word: &str, topic: Topic, name: Option<&Bytes>) -> Result<()> {
    let subscriptions = &session.connection()?.subscriptions;
    let count: usize = counted(topic).iter().map(|&topic| subscriptions.count(topic)).sum();
    reply.push(3);
    reply.text(word);
    super::reply_value(reply, name.map(Bytes::as_ref));
    reply.integer(length(count));
    Ok(())
}

fn subscribe_to(session: &mut Session, args: &[Bytes], reply: &mut Reply, topic: Topic, word: &str) -> Result<()> {
    for name in args.iter().skip(1) {
        session.subscribe(topic, name);
        acknowledge(session, reply, word, topic, Some(name))?;
    }
    Ok(())
}

/// From all of the topic where none is named.
fn unsubscribe_from(session: &mut Session, args: &[Bytes], reply: &mut Reply, topic: Topic, word: &str) -> Result<()> {
    let names = match args.get(1..) {
        Some(names) if !names.is_empty() => names.to_vec(),
        _ => session.connection()?.subscriptions.names(topic),
    };
    if names.is_empty() {
        return acknowledge(session, reply, word, topic, None);
    }
    for name in &names {
        session.unsubscribe(topic, name);
        acknowledge(session, reply, word, topic, Some(name))?;
    }
    Ok(())
}

fn subscribe(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    subscribe_to(session, args, reply, Topic::Channel, "subscribe")
}

fn psubscribe(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    subscribe_to(session, args, reply, Topic::Pattern, "psubscribe")
}

/// Redis does not let transactions subscribe to channels of shards, though to others.
fn ssubscribe(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    if session.within_exec {
        return Err(Error::client("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client"));
    }
    subscribe_to(session, args, reply, Topic::ShardChannel, "ssubscribe")
}

fn unsubscribe(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    unsubscribe_from(session, args, reply, Topic::Channel, "unsubscribe")
}

fn punsubscribe(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    unsubscribe_from(session, args, reply, Topic::Pattern, "punsubscribe")
}

fn sunsubscribe(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    unsubscribe_from(session, args, reply, Topic::ShardChannel, "sunsubscribe")
}

fn publish(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    send(session, args, reply, Topic::Channel)
}

fn spublish(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    send(session, args, reply, Topic::ShardChannel)
}

fn send(session: &mut Session, args: &[Bytes], reply: &mut Reply, topic: Topic) -> Result<()> {
    if let [_, channel, message] = args {
        let receivers = session.publish(topic, channel, message);
        reply.integer(length(receivers));
    }
    Ok(())
}

fn channels(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    list(session, args, reply, Topic::Channel)
}

fn shard_channels(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    list(session, args, reply, Topic::ShardChannel)
}

/// `PUBSUB CHANNELS [pattern]`.
fn list(session: &mut Session, args: &[Bytes], reply: &mut Reply, topic: Topic) -> Result<()> {
    if args.len() > 3 {
        return Err(wrong_subcommand(args));
    }
    let fits = |name: &&Bytes| args.get(2).is_none_or(|pattern| glob::matches(pattern, name, false));
    let names = session.server.subscribed_names(topic);
    let names: Vec<&Bytes> = names.into_iter().filter(fits).collect();
    reply.array(names.len());
    names.into_iter().for_each(|name| reply.bulk(name));
    Ok(())
}

fn count_patterns(session: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    let count = session.server.subscribed_names(Topic::Pattern).len();
    reply.integer(length(count));
    Ok(())
}

fn count_subscribers(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    count(session, args, reply, Topic::Channel)
}

fn count_shard_subscribers(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    count(session, args, reply, Topic::ShardChannel)
}

/// `PUBSUB NUMSUB [channel ...]`: pairs, an array in RESP3 as well.
fn count(session: &mut Session, args: &[Bytes], reply: &mut Reply, topic: Topic) -> Result<()> {
    let names = args.get(2..).unwrap_or_default();
    reply.array(names.len().saturating_mul(2));
    for name in names {
        reply.bulk(name);
        reply.integer(length(session.server.count_subscribers(topic, name)));
    }
    Ok(())
}
