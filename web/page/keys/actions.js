// What is done to a key from the list: delete, rename, expire. Each asks first, in a dialog.

import { plain, utf8, word, text } from '../bytes.js';
import { h } from '../dom.js';
import { explain } from '../status/errors.js';

/** @typedef {import('../engine.js').Engine} Engine */

/** @param {Engine} engine @param {Uint8Array} key */
export async function confirmDeletion(engine, key) {
  await ask('Delete key', [h('p', {}, 'Delete ', h('code', {}, plain(key)), ' with all that it holds?')], 'Delete', async () => {
    await run(engine, ['DEL', key]);
    engine.choose(null);
  }, 'danger');
}

/** @param {Engine} engine @param {Uint8Array} key */
export async function rename(engine, key) {
  const field = h('input', { name: 'name', value: text(key) ?? '', required: true, autocomplete: 'off', spellcheck: 'false' });
  await ask('Rename key', [label('New name', field)], 'Rename', async () => {
    const name = utf8(field.value);
    if (word(name) === word(key)) return;
    if ((await run(engine, ['RENAMENX', key, name])) === '0') throw new Error('There is a key of that name.');
    engine.choose(name);
  });
}

/** @param {Engine} engine @param {Uint8Array} key */
export async function expire(engine, key) {
  const field = h('input', { name: 'seconds', type: 'number', min: '0', step: '1', value: '60', inputmode: 'numeric' });
  await ask('Let the key expire', [label('Seconds from now; nothing: never', field)], 'Set', async () => {
    await run(engine, field.value === '' ? ['PERSIST', key] : ['EXPIRE', key, field.value]);
  });
}

/** @param {Engine} engine @param {(string | Uint8Array)[]} command @returns {Promise<string>} */
async function run(engine, command) {
  const reply = await engine.run(command.map((arg) => (arg instanceof Uint8Array ? arg : utf8(arg))));
  if (reply.kind === 'error') throw new Error(reply.text);
  return 'text' in reply ? reply.text : '';
}

/** @param {string} caption @param {HTMLElement} field */
const label = (caption, field) => h('label', { class: 'field' }, h('span', {}, caption), field);

/**
 * Shows a dialog; what `act` fails with is shown in it.
 * @param {string} title @param {Node[]} content @param {string} verb @param {() => Promise<void>} act @param {string} [tone]
 * @returns {Promise<void>} When it is closed.
 */
function ask(title, content, verb, act, tone = 'primary') {
  const problem = h('p', { class: 'problem', role: 'alert' });
  const cancel = h('button', { type: 'button', class: 'button' }, 'Cancel');
  const form = h('form', {}, h('h2', { id: 'dialog-title' }, title), ...content, problem,
    h('div', { class: 'row-end' }, cancel, h('button', { class: `button ${tone}` }, verb)));
  const dialog = h('dialog', { 'aria-labelledby': 'dialog-title' }, form);
  cancel.addEventListener('click', () => dialog.close());
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      await act();
      dialog.close();
    } catch (error) {
      problem.textContent = explain(error);
    }
  });
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener('close', () => {
    dialog.remove();
    resolve();
  }));
}
