// Keeps the page for times without a network. `files.js`, which the build writes, names every file and their common version: when
// one of them changes, the browser sees another `files.js`, installs a new worker, and fills a new cache.

importScripts('files.js');

const CACHE = `orbweaver-${self.FILES.version}`;

self.addEventListener('install', (event) => {
  event.waitUntil(fill());
});

self.addEventListener('activate', (event) => {
  event.waitUntil(takeOver());
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method === 'GET' && new URL(request.url).origin === location.origin) event.respondWith(answer(request));
});

async function fill() {
  const cache = await caches.open(CACHE);
  // Past the browser's own cache, which may hold an older version.
  await cache.addAll(self.FILES.names.map((name) => new Request(name, { cache: 'reload' })));
  await self.skipWaiting();
}

async function takeOver() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith('orbweaver-') && name !== CACHE).map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function answer(request) {
  const cache = await caches.open(CACHE);
  const wanted = request.mode === 'navigate' ? './' : request;
  return (await cache.match(wanted, { ignoreSearch: true })) ?? fetch(request);
}
