// Prints every document of a collection, in the order of _id, as hex: what the Node addon reads of a file that
// other doors have written. Arguments: FILE DATABASE COLLECTION.
import { createRequire } from 'node:module';

const require = createRequire(new URL('../../bindings/node/package.json', import.meta.url));
const { Engine } = require('./multiforadb.node');
const { deserialize, serialize } = require('bson');

const [path, name, collection] = process.argv.slice(2);
const engine = await Engine.open(path, { create: false });

async function command(document) {
  return Buffer.from(await engine.command(name, Buffer.from(serialize(document))));
}

// `raw` keeps each document of the batch as the bytes it came in.
function batchOf(reply, field) {
  const { cursor } = deserialize(reply, { promoteLongs: false, fieldsAsRaw: { [field]: true } });
  return cursor;
}

let field = 'firstBatch';
let reply = await command({ find: collection, sort: { _id: 1 }, batchSize: 1000 });
for (;;) {
  const cursor = batchOf(reply, field);
  if (!cursor) throw new Error(`no cursor in the reply: ${JSON.stringify(deserialize(reply))}`);
  for (const document of cursor[field]) console.log(Buffer.from(document).toString('hex'));
  if (cursor.id.isZero()) break;
  reply = await command({ getMore: cursor.id, collection });
  field = 'nextBatch';
}
await engine.close();
