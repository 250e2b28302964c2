// Dark, light, or as the system has it. The page's head applies the choice before anything is drawn.

import { byId } from '../dom.js';

const KEY = 'orbweaver.theme';
const CHOICES = ['auto', 'light', 'dark'];

export function startTheme() {
  const button = byId('theme');
  const show = () => {
    const choice = current();
    button.textContent = `Theme: ${choice}`;
  };
  button.addEventListener('click', () => {
    const choice = CHOICES[(CHOICES.indexOf(current()) + 1) % CHOICES.length];
    if (choice === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // It lasts as long as the page.
    }
    show();
  });
  show();
}

const current = () => document.documentElement.dataset.theme ?? 'auto';
