// The workload with the Node driver: the same steps and answers as in workload.js and workload.py.
import { createRequire } from 'node:module';

const require = createRequire(process.env.MULTIFORA_CLIENTS + '/package.json');
const { MongoClient } = require('mongodb');
const bson = require('bson');

const client = new MongoClient(process.env.WORKLOAD_URI, { monitorCommands: true });
let getMores = 0;
client.on('commandStarted', (event) => (getMores += event.commandName === 'getMore'));
const db = client.db(process.env.WORKLOAD_DB);
const kept = db.collection('kept');
const seen = {};

seen.inserted = (await kept.insertOne({ _id: 1, kind: 'a', n: 1 })).insertedId;
await kept.insertMany([2, 3, 4, 5].map((n) => ({ _id: n, kind: n % 2 ? 'a' : 'b', n })));
seen.found = (await kept.find({ n: { $gt: 3 } }).sort({ _id: 1 }).toArray()).map((d) => d._id);
seen.modified = (await kept.updateOne({ _id: 2 }, { $set: { n: 20 } })).modifiedCount;
seen.deleted = (await kept.deleteOne({ _id: 3 })).deletedCount;
seen.index = await kept.createIndex({ at: 1 }, { expireAfterSeconds: 3600 });
seen.ttl = (await kept.indexes()).find((i) => i.name === seen.index).expireAfterSeconds;
seen.groups = Object.fromEntries(
  (await kept.aggregate([{ $group: { _id: '$kind', sum: { $sum: '$n' } } }]).toArray()).map((d) => [d._id, d.sum])
);
await kept.insertOne({
  _id: 'types', double: 1.5, string: 'ä€𝄞', document: { b: 1, a: [null, true] },
  binary: new bson.Binary(Buffer.from([0, 1, 2, 3])), oid: new bson.ObjectId('0123456789abcdef01234567'),
  date: new Date('2024-02-29T12:34:56.789Z'), regex: /^a.b/i, int: new bson.Int32(7),
  long: bson.Long.fromString('9007199254740993'), decimal: bson.Decimal128.fromString('1.10'),
  timestamp: new bson.Timestamp({ t: 5, i: 6 }), min: new bson.MinKey(), max: new bson.MaxKey(),
  code: new bson.Code('x'),
});

const many = db.collection('many');
await many.insertMany(Array.from({ length: 10000 }, (_, i) => ({ _id: i, text: 'document ' + i })));
seen.streamed = 0;
for await (const _ of many.find({}, { batchSize: 500 })) seen.streamed++;
if (getMores < 19) throw new Error(`10,000 documents in batches of 500 took ${getMores} getMores`);

try {
  await kept.insertOne({ _id: 1 });
} catch (error) {
  seen.duplicate = [error.code, /E11000 duplicate key error/.test(error.message)];
}

await db.collection('dropped').insertOne({ _id: 1 });
seen.drop = await db.collection('dropped').drop();
seen.collections = (await db.listCollections({}, { nameOnly: true }).toArray()).map((c) => c.name).sort();
await client.close();
console.log(JSON.stringify(seen));
