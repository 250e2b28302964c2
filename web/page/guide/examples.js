// Guided examples: commands in order, each with a sentence before and what to look at behind.

/**
 * @typedef {object} Step
 * @property {string} say What is about to happen.
 * @property {string} command
 * @property {string} look What to see in the records then.
 */

/**
 * @typedef {object} Example
 * @property {string} name
 * @property {string[]} keys What it makes: removed before it begins anew.
 * @property {Step[]} steps
 */

/** @type {Example[]} */
export const EXAMPLES = [
  {
    name: 'Leaderboard',
    keys: ['scores'],
    steps: [
      {
        say: 'Three players enter. A sorted set keeps each with a score.',
        command: 'ZADD scores 120 ada 90 bob 75 eve',
        look: 'Two records a player: “data” finds the score of a member, “score” its place. “meta” counts them.',
      },
      {
        say: 'Bob plays again. GT keeps the better of his scores.',
        command: 'ZADD scores GT 130 bob',
        look: 'Bob’s place is another key now, so one record goes and one comes. Nobody else is touched.',
      },
      {
        say: 'Who are the best three?',
        command: 'ZREVRANGE scores 0 2 WITHSCORES',
        look: 'The records of “score” lie in the order of the scores: they are read from the end, and nothing is sorted.',
      },
      {
        say: 'Eve gets a bonus of 60 points.',
        command: 'ZINCRBY scores 60 eve',
        look: 'Compare the bytes of her score before and after. “meta” stays: the count is the same.',
      },
      {
        say: 'Which place is Eve on now? The best is 0.',
        command: 'ZREVRANK scores eve',
        look: 'Her score is read, then the places from the nearer end up to hers.',
      },
      {
        say: 'The season is over.',
        command: 'DEL scores',
        look: 'However many players: “meta” goes, and a note in “garbage” comes. The sweep removes the rest while the page is idle.',
      },
    ],
  },
  {
    name: 'Queue',
    keys: ['jobs', 'working'],
    steps: [
      {
        say: 'Three jobs are put at the end of a list.',
        command: 'RPUSH jobs mail:1 mail:2 thumbnail:3',
        look: 'Elements are numbered from 2^63 on, so that a list can grow at both ends. “meta” knows the head and the tail.',
      },
      {
        say: 'A worker takes the first one and notes it in a list of its own, in one step.',
        command: 'LMOVE jobs working LEFT RIGHT',
        look: 'One element is removed and the head moves on by one. The other list is a new collection with its own version.',
      },
      {
        say: 'What is it working on?',
        command: 'LRANGE working 0 -1',
        look: 'Only read: “meta” tells where the elements lie.',
      },
      {
        say: 'The job is done, so it leaves the list. That was the last one in it.',
        command: 'LREM working 1 mail:1',
        look: 'A collection is never empty: with its last element the key is gone.',
      },
      {
        say: 'Something urgent goes in front.',
        command: 'LPUSH jobs alarm:4',
        look: 'The head moves down by one. Nothing else in the list is written.',
      },
      {
        say: 'How many jobs wait?',
        command: 'LLEN jobs',
        look: 'One record is read: the length is tail less head.',
      },
    ],
  },
  {
    name: 'Cache',
    keys: ['page:home', 'session:1'],
    steps: [
      {
        say: 'A rendered page is kept for a minute.',
        command: 'SET page:home "<h1>Hello</h1>" EX 60',
        look: 'The string lies in “meta” as a whole. A record in “expiry” lets the sweep find what is due.',
      },
      {
        say: 'It is asked for.',
        command: 'GET page:home',
        look: 'One record is read. Had its time passed, the answer would be (nil), whether it has been swept or not.',
      },
      {
        say: 'It shall live for ten seconds more only.',
        command: 'EXPIRE page:home 10',
        look: 'The record in “expiry” moves to its new time. Watch the key count down, and go.',
      },
      {
        say: 'A session, as a hash.',
        command: 'HSET session:1 user ada token 5e884898',
        look: 'A field is a record. The key’s version stands in front of each, not its name.',
      },
      {
        say: 'The token alone shall expire, after 20 seconds.',
        command: 'HEXPIRE session:1 20 FIELDS 1 token',
        look: 'The field carries its time, and “field-expiry” has it in order of time.',
      },
      {
        say: 'What is left of the session? Ask again when the token is gone.',
        command: 'HGETALL session:1',
        look: 'Fields whose time has passed are left out, to the millisecond.',
      },
    ],
  },
];
