// HELP, as redis-cli has it: a command, a group, or how to go on.

import { h } from '../dom.js';
import { syntax } from './hints.js';

/** @typedef {import('./hints.js').Known} Known */

const HINT = [
  'HELP <command>   what a command does and takes',
  'HELP @<group>    the commands of a group: @string @hash @list @set @sorted-set @generic ...',
  'CLEAR            empties the terminal',
  '',
  'Tab completes, the arrow keys bring lines back, Ctrl+R finds one, Ctrl+L clears, Ctrl+C ends a wait or SUBSCRIBE.',
];

/** @param {Known[]} commands @param {string[]} words Behind HELP. @returns {Node} */
export function help(commands, words) {
  const wanted = words.join(' ').toLowerCase();
  if (wanted === '') return document.createTextNode(HINT.join('\n'));
  const found = wanted.startsWith('@') ? commands.filter(({ group }) => group === wanted.slice(1)) : entries(commands, wanted);
  if (found.length === 0) return h('span', { class: 'reply-error' }, `No command or group "${wanted}".`);
  const fragment = document.createDocumentFragment();
  fragment.append(...found.flatMap((command, position) => [position > 0 ? '\n' : '', ...entry(command, command.name)]));
  return fragment;
}

/** @param {Known[]} commands @param {string} wanted */
function entries(commands, wanted) {
  const [first] = wanted.split(' ');
  const command = commands.find(({ name }) => name === first);
  if (!command) return [];
  const inner = command.subcommands.map((subcommand) => ({ ...command, ...subcommand, subcommands: [] }));
  return first === wanted ? [command, ...inner] : inner.filter(({ name }) => name === wanted);
}

/** @param {Known} command @param {string} name @returns {(Node | string)[]} */
function entry(command, name) {
  /** @param {string} label @param {string} value */
  const line = (label, value) => [h('span', { class: 'reply-index' }, `  ${label.padEnd(9)}`), `${value}\n`];
  return [
    h('strong', {}, name.toUpperCase()), ' ', h('span', { class: 'reply-nil' }, syntax(command, name)), '\n',
    ...line('summary', command.summary), ...line('since', command.since), ...line('group', command.group),
  ];
}
