//! How RocksDB is set up, each setting with its reason.

use super::layout::Layout;
use super::write_back::{HEADS, Most};
use super::{merges, orders, redo};
use orbweaver_engine::store::{Order, prefix_end};
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, ChecksumType, DBCompressionType, LruCacheOptions, Options, SliceTransform,
    WriteBufferManager,
};

/// How many levels of files a keyspace has, as RocksDB comes.
const LEVELS: usize = 7;

/// When a commit is safe from a crash of the machine. A crash of the process alone loses nothing in any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When `commit` returns.
    Always,
    /// A second after `commit` returned, as with Redis's `appendfsync everysec`.
    EverySecond,
    /// When the operating system writes its caches back, commonly within half a minute.
    Os,
}

/// How files are compressed, in databases of our own layout: the programs of the others do it their way. Files that are there already stay
/// as they are until they are compacted, and are read whichever is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// lz4 everywhere. What overlaps nothing moves down to the lowest level as it is, and what is rewritten takes little of the time of
    /// commands.
    Fast,
    /// zstd for the lowest level, where nine tenths of a large database lie.
    Small,
}

/// How a store is opened. `RocksOptions::default()` suits a server with a gigabyte of memory to spare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RocksOptions {
    /// Which databases and keyspaces the directory holds, or is to hold; [`super::recognise`] tells it from a directory. Default:
    /// our own.
    pub layout: Layout,
    /// When a commit is safe. Default: every second.
    pub durability: Durability,
    /// How files are compressed. Default: fast.
    pub compression: Compression,
    /// Memory for blocks read from files, their filters and indexes among them, shared by all keyspaces, in bytes. Should be two for each record: with
    /// less, filters are read from files again and again. Default: 256 MiB.
    pub block_cache_bytes: usize,
    /// Memory for records, and for pages of collections, that were read lately, for collections that are read and changed in turn, and for
    /// what tells that new records are not there yet, in bytes; 0 for none. Default: 128 MiB.
    pub record_cache_bytes: usize,
    /// What a keyspace collects in memory before it writes files, in eight parts, in bytes. All keyspaces together take up to
    /// [`Self::WRITE_BUFFERS`] times as much. Default: 32 MiB.
    pub write_buffer_bytes: usize,
    /// Memory for heads of keys which change again and again, before they are written into their keyspace, in bytes; 0 to write each at once.
    /// Default: 64 MiB.
    pub write_back_bytes: usize,
    /// Files kept open, by all databases together; -1 for all. Default: 1000, below the usual limit of a process.
    pub max_open_files: i32,
    /// A range delete gives its space back at once where the files of the range hold at least this many bytes; smaller ones wait
    /// for an ordinary compaction. Default: 32 MiB.
    pub reclaim_bytes: u64,
    /// Refuse every write, and leave the directory as it is: works beside a process that has it open. Default: false.
    pub read_only: bool,
    /// Create the database where there is none. Default: true.
    pub create_if_missing: bool,
}

impl Default for RocksOptions {
    fn default() -> Self {
        Self {
            layout: Layout::Orbweaver,
            durability: Durability::EverySecond,
            compression: Compression::Fast,
            block_cache_bytes: 256 << 20,
            record_cache_bytes: 128 << 20,
            write_buffer_bytes: 32 << 20,
            write_back_bytes: 64 << 20,
            max_open_files: 1000,
            reclaim_bytes: 32 << 20,
            read_only: false,
            create_if_missing: true,
        }
    }
}

impl RocksOptions {
    /// Memory of all keyspaces together for what is written, in write buffers: up to three for the redo of heads, the others for records.
    pub const WRITE_BUFFERS: usize = 5;
}

/// In these keyspaces of our own layout the first bytes of a key name the structure that it belongs to, and most scans stay within one.
const PREFIXED: [&str; 3] = ["data", "score", "rank"];

/// Length of that name.
pub const PREFIX_BYTES: usize = 8;

/// The keyspaces of our own layout from whose front records are taken again and again, by the sweep.
const TAKEN_FROM_THE_FRONT: [&str; 3] = ["expiry", "garbage", "field-expiry"];

/// Which records of a keyspace are scanned together, so that something is kept of the scans.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scanned {
    /// None in particular.
    Apart,
    /// Those of one structure.
    ByStructure,
    /// All, as if they were one structure.
    Whole,
}

/// Which records of a keyspace are scanned together.
pub fn scanned(layout: Layout, keyspace: &str) -> Scanned {
    if filter_prefix(layout, keyspace).is_some() {
        Scanned::ByStructure
    } else if layout == Layout::Orbweaver && TAKEN_FROM_THE_FRONT.contains(&keyspace) {
        Scanned::Whole
    } else {
        Scanned::Apart
    }
}

/// How many bytes at the start of its keys a keyspace's filters know beside whole keys, where they do.
pub fn filter_prefix(layout: Layout, keyspace: &str) -> Option<usize> {
    (layout == Layout::Orbweaver && PREFIXED.contains(&keyspace)).then_some(PREFIX_BYTES)
}

/// Whether every key of the range begins with the same bytes, as many as the filters know.
pub fn within_prefix(first: &[u8], end: Option<&[u8]>, filter_prefix: Option<usize>) -> bool {
    let prefix = filter_prefix.and_then(|length| first.get(..length));
    let behind = prefix.and_then(prefix_end);
    matches!((end, behind), (Some(end), Some(behind)) if end <= behind.as_slice())
}

/// How many memtables a write buffer is.
const WRITE_BUFFER_PARTS: usize = 8;

/// The part of a memtable that is its filter.
const MEMTABLE_FILTER_SHARE: f64 = 0.02;

/// A database whose files take so many times the block cache may have more filters than that has room for: where a record takes 10 bytes of a
/// file they take all of it, at 30 bytes a third.
const LARGE_TIMES: u64 = 8;
/// There filters and indexes are cut into parts of so many bytes, which is the filter of a whole memtable of small records.
const FILTER_PART_BYTES: usize = 128 << 10;

/// A part of the block cache takes many filters of whole files, which have 5 MiB where records are small. RocksDB's own choice is parts of 4 MiB of a
/// cache of 256.
const LEAST_SHARD_BYTES: usize = 64 << 20;
/// As many as RocksDB makes by itself at most: 64 parts.
const MOST_SHARD_BITS: u32 = 6;

/// The log that is kept, in halves of a write buffer: what fills a table of heads, that of the next one until this one is written back, and what
/// is written back meanwhile. With less, RocksDB writes redo into files that is needed.
const LOG_HALVES: usize = 7;
/// The log that fills a table.
const TABLE_LOG_HALVES: usize = 3;

fn halves(write_buffer_bytes: usize, halves: usize) -> usize {
    (write_buffer_bytes / 2).saturating_mul(halves)
}

/// How much of heads waits to be written back.
pub fn most_unwritten(options: &RocksOptions) -> Most {
    let table_bytes = if options.layout == Layout::Orbweaver && !options.read_only { options.write_back_bytes / 2 } else { 0 };
    Most { table_bytes, log_bytes: halves(options.write_buffer_bytes, TABLE_LOG_HALVES) }
}

/// What the databases of a store share: the memory for what is read, and for what is written.
pub struct Memory {
    cache: Cache,
    buffers: WriteBufferManager,
    /// Whether new files have filters and indexes in parts.
    cuts_filters: bool,
}

impl Memory {
    /// For a store whose files take so many bytes.
    pub fn new(options: &RocksOptions, file_bytes: u64) -> Self {
        // The write buffers of all keyspaces together; the one with the oldest memtable is written first.
        let buffers =
            WriteBufferManager::new_write_buffer_manager(options.write_buffer_bytes.saturating_mul(RocksOptions::WRITE_BUFFERS), false);
        let cache_bytes = u64::try_from(options.block_cache_bytes).unwrap_or(u64::MAX);
        let cuts_filters = file_bytes > cache_bytes.saturating_mul(LARGE_TIMES);
        Self { cache: block_cache(options.block_cache_bytes), buffers, cuts_filters }
    }
}

/// A cache of that size, in few parts with a lock each.
fn block_cache(bytes: usize) -> Cache {
    let mut cache = LruCacheOptions::default();
    cache.set_capacity(bytes);
    let shard_bits = (bytes / LEAST_SHARD_BYTES).max(1).ilog2().min(MOST_SHARD_BITS);
    cache.set_num_shard_bits(i32::try_from(shard_bits).unwrap_or(0));
    Cache::new_lru_cache_opts(&cache)
}

/// What holds for a database as a whole.
pub fn database(options: &RocksOptions, memory: &Memory) -> Options {
    let mut db = Options::default();
    db.create_if_missing(options.create_if_missing);
    db.create_missing_column_families(true);
    let databases = i32::try_from(options.layout.databases().len()).unwrap_or(1);
    db.set_max_open_files(if options.max_open_files < 0 { -1 } else { options.max_open_files / databases });
    // A database starts this many threads for each of its keyspaces when it is opened: by default 16, which are a hundred in all.
    db.set_max_file_opening_threads(2);
    // One flush and one compaction at a time: on few cores more of them take the time of commands.
    db.set_max_background_jobs(2);
    db.set_write_buffer_manager(&memory.buffers);
    // A keyspace that hardly changes would otherwise keep old logs: disk, and what a restart reads. It is written for their sake then,
    // which is a small file.
    db.set_max_total_wal_size(u64::try_from(halves(options.write_buffer_bytes, LOG_HALVES)).unwrap_or(u64::MAX));
    // Written in small steps while a file grows, not as one burst that delays the sync of the log.
    db.set_bytes_per_sync(1 << 20);
    // The information log is for people; three files of 16 MiB tell enough.
    db.set_keep_log_file_num(3);
    db.set_max_log_file_size(16 << 20);
    // Nobody reads RocksDB's statistics here, and gathering them costs a few percent.
    db.set_stats_dump_period_sec(0);
    db.set_stats_persist_period_sec(0);
    if options.layout.is_foreign() {
        // A record of the manifest that the RocksDB of old programs does not know.
        db.set_write_dbid_to_manifest(false);
    }
    db
}

/// What holds for one keyspace. `uncompressed`: the program that the directory is from does not compress its files.
pub fn keyspace(name: &str, order: Order, uncompressed: bool, options: &RocksOptions, memory: &Memory) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&memory.cache);
    // Indexes and filters count against the cache's size, so that memory has one limit; those of the newest files, which every
    // read asks, stay in it.
    table.set_cache_index_and_filter_blocks(true);
    table.set_cache_index_and_filter_blocks_with_high_priority(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    // Full filters of 10 bits a key: one in a hundred files is read in vain for a key that it does not hold.
    table.set_bloom_filter(10.0, false);
    table.set_whole_key_filtering(true);

    let mut cf = Options::default();
    orders::set(&mut cf, order);
    // In parts: what a put costs is the search for its place, which waits for memory at every step where the skip list is larger than the
    // processor's caches. Each part becomes a file, and so many files are compacted together as two write buffers are. (Parts that
    // are written together, by `min_write_buffer_number_to_merge`, can be left behind for ever when the log is full, and keep every log.)
    cf.set_write_buffer_size(options.write_buffer_bytes / WRITE_BUFFER_PARTS);
    let parts = i32::try_from(WRITE_BUFFER_PARTS).unwrap_or(1);
    cf.set_max_write_buffer_number(2 * parts);
    cf.set_level_zero_file_num_compaction_trigger(2 * parts);
    cf.set_level_zero_slowdown_writes_trigger(5 * parts);
    cf.set_level_zero_stop_writes_trigger(9 * parts);
    // The memtable has a filter too, of some 16 bits a small record: what a write asks for is often not there, and in a search of the
    // skip list the processor waits for memory at every step. Only in byte order are keys the same whose hashes are.
    if order == Order::Bytes {
        cf.set_memtable_prefix_bloom_ratio(MEMTABLE_FILTER_SHARE);
        cf.set_memtable_whole_key_filtering(true);
    }
    if options.layout.is_foreign() {
        // Scans walk over tombstones: a file in which 64 of 256 neighbours, or half of all records, are deletes is compacted soon. Our own
        // scans tell where they do (`reclaim.rs`), and go around most of them.
        cf.add_compact_on_deletion_collector_factory(256, 64, 0.5);
        // What the RocksDB of the programs can read that these directories are from, back to 5.0.
        table.set_format_version(2);
        table.set_checksum_type(ChecksumType::CRC32c);
        cf.set_compression_type(if uncompressed { DBCompressionType::None } else { DBCompressionType::Snappy });
        cf.set_level_compaction_dynamic_level_bytes(false);
    } else {
        if memory.cuts_filters {
            // A read that finds all of them in the cache takes up to 1.4 of the time, one that does not brings in a part, and not megabytes.
            table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            table.set_partition_filters(true);
            table.set_metadata_block_size(FILTER_PART_BYTES);
        }
        // The format that RocksDB writes by default since version 9: named so that an upgrade of the library does not change files.
        table.set_format_version(6);
        cf.set_compression_type(DBCompressionType::Lz4);
        if name == HEADS {
            // What is written back is replaced soon, mostly by the compaction of these files: to compress them took a third of what flushes of heads take.
            let mut levels = [DBCompressionType::Lz4; LEVELS];
            levels[0] = DBCompressionType::None;
            cf.set_compression_per_level(&levels);
        }
        if options.compression == Compression::Small {
            cf.set_bottommost_compression_type(DBCompressionType::Zstd);
        }
        // Levels sized from the bottom up: a tenth of dead records at most, also in a small database.
        cf.set_level_compaction_dynamic_level_bytes(true);
    }
    if redo::is_redo(options.layout, name) {
        // It is emptied before it is full. What is written of it nevertheless is deleted soon.
        cf.set_write_buffer_size(halves(options.write_buffer_bytes, 2 * TABLE_LOG_HALVES));
        cf.set_level_zero_file_num_compaction_trigger(2);
        cf.set_memtable_prefix_bloom_ratio(0.0);
    }
    cf.set_block_based_table_factory(&table);
    if options.layout == Layout::Ardb {
        merges::set(&mut cf);
    }
    if let Some(prefix) = filter_prefix(options.layout, name) {
        // Lets a scan within one structure pass over files that hold nothing of it. Every other scan asks for total order.
        cf.set_prefix_extractor(SliceTransform::create_fixed_prefix(prefix));
    }
    cf
}
