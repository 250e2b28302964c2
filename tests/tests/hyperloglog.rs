//! HyperLogLogs in the bytes of Redis: the same for the same commands, and each reads those of the other.

use orbweaver_engine::resp::Value;
use orbweaver_tests::client::Args;
use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::redis_server::RedisServer;
use orbweaver_tests::target::{SocketTarget, Target};

const ROUNDS: u64 = 30;
const COMMANDS: usize = 40;
const KEYS: [&str; 4] = ["a", "b", "c", "d"];

fn call(target: &mut dyn Target, command: &Args) -> Value {
    target.execute(0, &[command]).expect("the target lives").remove(0)
}

fn words(words: &[&str]) -> Args {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// A PFADD of one to a few thousand elements, or a PFMERGE.
fn change(random: &mut fastrand::Rng) -> Args {
    let key = random.choice(KEYS).expect("there are keys");
    if random.u8(..10) < 2 {
        let sources = (0..random.usize(..3)).map(|_| random.choice(KEYS).expect("there are keys"));
        return words(&[&["PFMERGE", key], sources.collect::<Vec<_>>().as_slice()].concat());
    }
    let mut command = words(&["PFADD", key]);
    let most = random.choice([1, 10, 100, 500, 3_000]).expect("there are sizes");
    command.extend((0..random.usize(..=most)).map(|_| random.u32(..100_000).to_string().into_bytes()));
    command
}

#[test]
fn the_bytes_are_equal_after_every_command_and_each_reads_those_of_the_other() {
    let redis = RedisServer::start(&[]);
    let mut redis = SocketTarget::new(redis.address());
    let mut ours = EngineTarget::default();
    let (mut sparse, mut dense) = (0, 0);
    for seed in 0..ROUNDS {
        redis.reset().expect("Redis lives");
        ours.reset().expect("the engine opens");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..COMMANDS {
            let command = change(&mut random);
            assert_eq!(call(&mut redis, &command), call(&mut ours, &command), "seed {seed}");
            let get = vec![b"GET".to_vec(), command[1].clone()];
            let value = call(&mut redis, &get);
            assert!(value == call(&mut ours, &get), "seed {seed}: the bytes differ after {} words", command.len());
            let Value::Bulk(bytes) = value else { panic!("not a string: {value:?}") };
            *(if bytes.len() == 12_304 { &mut dense } else { &mut sparse }) += 1;
        }
        for key in KEYS {
            // Copies are counted: PFCOUNT keeps its result within the key.
            let [from_redis, from_ours] = [&mut redis as &mut dyn Target, &mut ours].map(|target| call(target, &words(&["GET", key])));
            for (target, value) in [(&mut redis as &mut dyn Target, &from_ours), (&mut ours, &from_redis)] {
                if let Value::Bulk(bytes) = value {
                    call(target, &vec![b"SET".to_vec(), b"copy".to_vec(), bytes.to_vec()]);
                }
            }
            let count = words(&["PFCOUNT", "copy"]);
            assert_eq!(call(&mut redis, &count), call(&mut ours, &count), "seed {seed}");
        }
        let union = words(&[&["PFCOUNT"], KEYS.as_slice()].concat());
        assert_eq!(call(&mut redis, &union), call(&mut ours, &union), "seed {seed}");
    }
    assert!(sparse > 100 && dense > 100, "{sparse} sparse, {dense} dense");
}
