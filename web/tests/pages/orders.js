// A worker that opens a keyspace with an order, and answers with the error.

import loadStore, { IndexedDbStore } from '/orbweaver/store/store.js';

onmessage = async ({ data: order }) => {
  await loadStore();
  const store = await IndexedDbStore.open('orders', 'relaxed', []);
  const { message, payload } = await store.openKeyspace('ordered', order).catch((error) => error);
  store.close();
  postMessage({ message, payload });
};
