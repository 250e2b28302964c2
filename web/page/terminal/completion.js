// Names of commands that begin as the line does.

/** @typedef {import('./hints.js').Known} Known */

const MOST = 8;
const LOCAL = [
  { name: 'help', summary: 'Explains a command, or a group of them: HELP ZADD, HELP @list.' },
  { name: 'clear', summary: 'Empties the terminal.' },
];

/**
 * Commands, and behind the name of one that has them its subcommands; none where the line goes on behind a name.
 * @param {Known[]} commands Sorted by name.
 * @param {string} line
 * @returns {{ name: string, summary: string }[]}
 */
export function candidates(commands, line) {
  const typed = line.trimStart().toLowerCase().replace(/\s+/g, ' ');
  if (typed === '') return [];
  const [first, ...more] = typed.split(' ');
  if (more.length === 0) return matching([...LOCAL, ...commands], typed);
  const command = commands.find(({ name }) => name === first);
  if (first === 'help') return matching(commands, more.join(' ')).map(({ name, summary }) => ({ name: `help ${name}`, summary }));
  return more.length === 1 && command ? matching(command.subcommands, typed) : [];
}

/** @param {{ name: string, summary: string }[]} rows @param {string} typed */
const matching = (rows, typed) => rows.filter(({ name }) => name.startsWith(typed) && name !== typed).slice(0, MOST);
