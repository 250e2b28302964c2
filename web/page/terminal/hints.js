// What may still be typed behind a line.

import { SYNTAX } from './syntax.js';

/**
 * @typedef {object} Known A command of the engine.
 * @property {string} name Lower case.
 * @property {string} summary
 * @property {string} group
 * @property {string} since
 * @property {{ name: string, summary: string }[]} subcommands Their full names, `config get`.
 */

/** The syntax of a command's arguments. @param {Known} command @param {string} [name] Of its subcommand. */
export function syntax(command, name = command.name) {
  const known = SYNTAX[name];
  if (known !== undefined) return known;
  if (command.subcommands.length > 0 && name === command.name) return 'subcommand [argument ...]';
  return /^`([^`]*)`/.exec(command.summary)?.[1] ?? '';
}

/**
 * What is left of a command's syntax behind the arguments that are there: a required part for each of them, and the options
 * that they name.
 * @param {string} syntax
 * @param {string[]} args Behind the command's name, whole ones.
 */
export function rest(syntax, args) {
  const parts = split(syntax);
  for (let at = 0; at < args.length;) {
    const option = parts.findIndex((part) => isOption(part) && names(part).includes(args[at].toUpperCase()));
    const required = parts.findIndex((part) => !isOption(part));
    if (option >= 0 && (required < 0 || option < required)) {
      at += takenBy(parts[option], args[at]);
      parts.splice(option, 1);
      continue;
    }
    if (required < 0) break;
    at += takenBy(parts[required], args[at]);
    // Options that stand before it were not taken.
    parts.splice(0, required + 1);
  }
  return parts.join(' ');
}

/** Parts at the outermost level: words and bracketed groups. @param {string} syntax */
function split(syntax) {
  const parts = [];
  let depth = 0;
  let part = '';
  for (const character of syntax) {
    if ('[<'.includes(character)) depth++;
    if (']>'.includes(character)) depth--;
    if (character === ' ' && depth === 0) {
      parts.push(part);
      part = '';
    } else part += character;
  }
  return part ? [...parts, part] : parts;
}

/** @param {string} part */
const isOption = (part) => part.startsWith('[');

/** The words that begin a group's choices. @param {string} part */
const names = (part) => choices(part).map((choice) => choice.split(' ')[0]).filter((name) => /^[A-Z]/.test(name));

/** @param {string} part */
const choices = (part) => part.replace(/^[[<]|[\]>]$/g, '').split('|').map((choice) => choice.trim());

/** How many arguments a part takes that begins with `arg`. @param {string} part @param {string} arg */
function takenBy(part, arg) {
  if (!/^[[<]/.test(part)) return 1;
  const choice = choices(part).find((choice) => choice.split(' ')[0] === arg.toUpperCase()) ?? '';
  return Math.max(1, choice.split(' ').length);
}
