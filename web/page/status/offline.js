// The service worker, which makes the page work without a network.

import { byId } from '../dom.js';

export async function startOffline() {
  const shown = byId('offline');
  if (!('serviceWorker' in navigator)) return;
  try {
    const registration = await navigator.serviceWorker.register('sw.js');
    registration.addEventListener('updatefound', () => {
      const { installing } = registration;
      installing?.addEventListener('statechange', () => {
        if (installing.state === 'installed' && navigator.serviceWorker.controller) shown.textContent = 'A new version is here: reload';
      });
    });
    await navigator.serviceWorker.ready;
    shown.textContent = 'Works offline';
  } catch {
    shown.textContent = 'Needs the network';
  }
}
