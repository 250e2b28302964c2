// Serves a folder on the loopback interface. As a program: node serve.mjs FOLDER [PORT]

import { createServer } from 'node:http';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { argv } from 'node:process';
import { pathToFileURL } from 'node:url';

const TYPES = {
  '.css': 'text/css', '.html': 'text/html; charset=utf-8', '.ico': 'image/x-icon', '.js': 'text/javascript', '.json': 'application/json',
  '.mjs': 'text/javascript', '.png': 'image/png', '.svg': 'image/svg+xml', '.wasm': 'application/wasm', '.webmanifest': 'application/manifest+json',
};

/** A server for several folders, each under its prefix (`/` for the one that has the rest). Resolves to it, listening. */
export async function serve(folders, port = 0) {
  const server = createServer(async (request, response) => {
    try {
      const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
      const prefix = Object.keys(folders).sort((a, b) => b.length - a.length).find((prefix) => path.startsWith(prefix));
      let file = join(folders[prefix], path.slice(prefix.length - 1));
      if ((await stat(file)).isDirectory()) file = join(file, 'index.html');
      const { size } = await stat(file);
      response.writeHead(200, {
        'content-type': TYPES[extname(file)] ?? 'application/octet-stream', 'content-length': size, 'cache-control': 'no-cache',
      });
      if (request.method === 'HEAD') return response.end();
      createReadStream(file).pipe(response);
    } catch {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('There is no such file.\n');
    }
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return server;
}

if (import.meta.url === pathToFileURL(argv[1]).href) {
  const server = await serve({ '/': argv[2] }, Number(argv[3] ?? 8000));
  console.log(`http://127.0.0.1:${server.address().port}/`);
}
