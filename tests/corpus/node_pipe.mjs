// Runs commands from standard input through the Node addon: "db<TAB>command as hex" in, reply as hex out.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(new URL('../../bindings/node/package.json', import.meta.url));
const { Engine } = require('./multiforadb.node');

const engine = await Engine.open(process.argv[2] ?? ':memory:', {});
for await (const line of createInterface({ input: process.stdin })) {
  const [db, hex] = line.split('\t');
  const reply = await engine.command(db, Buffer.from(hex, 'hex'));
  process.stdout.write(Buffer.from(reply).toString('hex') + '\n');
}
await engine.close();
