// An idle Node driver connection over ten heartbeats: the counters of connections and heartbeats, as JSON.
import { createRequire } from 'node:module';

const require = createRequire(process.env.MULTIFORA_CLIENTS + '/package.json');
const { MongoClient } = require('mongodb');

const client = new MongoClient(process.env.WORKLOAD_URI, { heartbeatFrequencyMS: 500, maxPoolSize: 1 });
const seen = { heartbeats: 0, failed: 0, created: 0, closed: 0, cleared: 0 };
const count = (event, field) => client.on(event, () => seen[field]++);
count('serverHeartbeatSucceeded', 'heartbeats');
count('serverHeartbeatFailed', 'failed');
count('connectionCreated', 'created');
count('connectionClosed', 'closed');
count('connectionPoolCleared', 'cleared');

await client.db('admin').command({ ping: 1 });
const deadline = Date.now() + 30000;
while (seen.heartbeats < 11 && Date.now() < deadline) await new Promise((done) => setTimeout(done, 100));
await client.db('admin').command({ ping: 1 });
const result = JSON.stringify(seen);
await client.close();
console.log(result);
