// A worker that opens a database: { name }.

import { open, remove } from '/orbweaver/src/index.js';

onmessage = async ({ data: name }) => {
  const db = await open({ name });
  await db.command('SET', 'k', 'v');
  const answer = [await db.command('GET', 'k'), await db.persist()];
  await db.close();
  await remove(name);
  postMessage(answer);
};
