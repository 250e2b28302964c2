// Something that takes a while: its progress, a button that stops it, and how the page bore it.

import { byId, h } from '../dom.js';
import { explain } from '../status/errors.js';
import { measureGaps } from './gap.js';

const SHOWN_MS = 8000;

/**
 * Runs work with a bar. `tell` takes a share between 0 and 1 (or null where nobody knows) and a text.
 * @param {string} title
 * @param {(tell: (share: number | null, text: string) => void, signal: AbortSignal) => Promise<string>} work Returns what was done.
 */
export async function runTask(title, work) {
  const abort = new AbortController();
  const bar = h('progress', { max: 1, 'aria-label': title });
  const text = h('span', { class: 'task-text', role: 'status' });
  const stop = h('button', { type: 'button', class: 'button' }, 'Cancel');
  const task = h('section', { class: 'task', 'aria-label': title }, h('div', { class: 'task-head' }, h('b', {}, title), stop), bar, text);
  const finish = () => task.remove();
  stop.addEventListener('click', () => abort.abort());
  byId('tasks').append(task);
  const gaps = measureGaps();
  let result = '';
  try {
    result = await work((share, shown) => {
      if (share === null) bar.removeAttribute('value');
      else bar.value = share;
      text.textContent = shown;
    }, abort.signal);
  } catch (error) {
    result = abort.signal.aborted ? `Cancelled. ${text.textContent}.` : explain(error);
    task.classList.toggle('has-failed', !abort.signal.aborted);
  }
  const longest = Math.round(gaps());
  text.textContent = `${result} Longest pause of the page: ${longest} ms.`;
  task.dataset.longestGap = String(longest);
  bar.value = bar.position >= 0 ? bar.position : 1;
  stop.replaceWith(h('button', { type: 'button', class: 'button', onclick: finish }, 'Close'));
  setTimeout(finish, task.classList.contains('has-failed') ? 4 * SHOWN_MS : SHOWN_MS);
}
