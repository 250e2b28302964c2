// Tabs of the key's pane, and which part of the page a narrow screen shows.

import { byId } from '../dom.js';

export function startTabs() {
  const tabs = /** @type {HTMLElement[]} */ (Array.from(document.querySelectorAll('[role=tab]')));
  for (const tab of tabs) {
    tab.addEventListener('click', () => choose(tabs, tab));
    tab.addEventListener('keydown', ({ key }) => {
      const step = new Map([['ArrowRight', 1], ['ArrowLeft', -1]]).get(key);
      if (step === undefined) return;
      const to = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
      choose(tabs, to);
      to.focus();
    });
  }
  const switches = /** @type {HTMLElement[]} */ (Array.from(document.querySelectorAll('[data-show]')));
  for (const button of switches) {
    button.addEventListener('click', () => {
      byId('main').dataset.shown = button.dataset.show;
      for (const other of switches) other.setAttribute('aria-pressed', String(other === button));
    });
  }
}

/** @param {HTMLElement[]} tabs @param {HTMLElement} chosen */
function choose(tabs, chosen) {
  for (const tab of tabs) {
    const isChosen = tab === chosen;
    tab.setAttribute('aria-selected', String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
    byId(tab.getAttribute('aria-controls') ?? '').hidden = !isChosen;
  }
  byId('notation').hidden = chosen.id !== 'tab-records';
}
