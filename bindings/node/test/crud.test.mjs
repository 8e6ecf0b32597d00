import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { BSON, Long, MongoClient, MongoServerError, ObjectId } from 'mongodb';
import multifora, { open, openSync } from '../index.mjs';

const folder = mkdtempSync(join(tmpdir(), 'mfdb-node-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function fresh(work, options = {}) {
  const client = await open(':memory:', options);
  try {
    await work(client.db('test').collection('c'), client);
  } finally {
    await client.close();
  }
}

test('both kinds of importers get the same module', () => {
  assert.equal(createRequire(import.meta.url)('../dist/index.js'), multifora);
  assert.match(multifora.version, /^\d+\.\d+\.\d+$/);
});

test('insert, find, update, delete with the driver results', () =>
  fresh(async (c) => {
    const one = await c.insertOne({ a: 1 });
    assert.ok(one.insertedId instanceof ObjectId && one.acknowledged);
    const many = await c.insertMany([{ _id: 1, k: 1 }, { _id: 2, k: 2 }, { _id: 3, k: 1 }]);
    assert.deepEqual(many, { acknowledged: true, insertedCount: 3, insertedIds: { 0: 1, 1: 2, 2: 3 } });
    assert.deepEqual(await c.findOne({ k: 2 }), { _id: 2, k: 2 });
    assert.equal(await c.findOne({ k: 99 }), null);
    assert.deepEqual(await c.updateOne({ _id: 1 }, { $set: { k: 5 } }), {
      acknowledged: true, matchedCount: 1, modifiedCount: 1, upsertedCount: 0, upsertedId: null,
    });
    const upsert = await c.updateOne({ _id: 9 }, { $inc: { n: 1 } }, { upsert: true });
    assert.deepEqual([upsert.upsertedCount, upsert.upsertedId, upsert.matchedCount], [1, 9, 0]);
    assert.equal((await c.replaceOne({ _id: 9 }, { m: 1 })).modifiedCount, 1);
    assert.deepEqual(await c.findOneAndUpdate({ _id: 2 }, { $set: { k: 7 } }, { returnDocument: 'after' }), { _id: 2, k: 7 });
    assert.equal((await c.findOneAndDelete({ _id: 2 }, { includeResultMetadata: true })).lastErrorObject.n, 1);
    assert.deepEqual(await c.deleteOne({ _id: 9 }), { acknowledged: true, deletedCount: 1 });
    assert.equal((await c.deleteMany({})).deletedCount, 3);
  }));

test('cursors: batches, sort, limit, iteration, clone, count', () =>
  fresh(async (c) => {
    await c.insertMany(Array.from({ length: 500 }, (_, i) => ({ _id: i, k: i % 5 })));
    const ids = [];
    for await (const { _id } of c.find({ k: 3 }).sort({ _id: -1 }).batchSize(10)) ids.push(_id);
    assert.equal(ids.length, 100);
    assert.deepEqual(ids.slice(0, 2), [498, 493]);
    assert.equal((await c.find().limit(7).batchSize(7).toArray()).length, 7);
    assert.deepEqual(await c.find().sort('_id', 'desc').limit(2).map((d) => d._id).toArray(), [499, 498]);
    const cursor = c.find().batchSize(3);
    assert.ok(await cursor.hasNext());
    assert.equal((await cursor.next())._id, 0);
    assert.ok(cursor.id instanceof Long && !cursor.id.isZero());
    await cursor.close();
    assert.equal(await cursor.clone().count(), 500);
    assert.equal(await c.countDocuments({ k: 1 }, { limit: 10 }), 10);
    assert.equal(await c.estimatedDocumentCount(), 500);
    assert.deepEqual(await c.distinct('k'), [0, 1, 2, 3, 4]);
    const groups = await c.aggregate().group({ _id: '$k', n: { $sum: 1 } }).sort({ _id: 1 }).toArray();
    assert.deepEqual(groups[0], { _id: 0, n: 100 });
  }));

test('errors are the driver errors', () =>
  fresh(async (c, client) => {
    await c.insertOne({ _id: 1 });
    await assert.rejects(c.insertOne({ _id: 1 }), (error) => {
      assert.ok(error instanceof MongoServerError);
      assert.equal(error.code, 11000);
      assert.deepEqual(error.keyValue, { _id: 1 });
      return true;
    });
    await assert.rejects(c.insertMany([{ _id: 2 }, { _id: 2 }, { _id: 3 }]), (error) => {
      assert.equal(error.name, 'MongoBulkWriteError');
      assert.equal(error.insertedCount, 1);
      assert.deepEqual(error.writeErrors.map((e) => e.index), [1]);
      return true;
    });
    await assert.rejects(client.db('test').command({ nope: 1 }), { code: 59, codeName: 'CommandNotFound' });
    await assert.rejects(c.updateOne({}, { a: 1 }), TypeError);
    await assert.rejects(c.find({ a: { $nope: 1 } }).toArray(), { code: 2 });
  }));

test('bulkWrite', () =>
  fresh(async (c) => {
    const result = await c.bulkWrite([
      { insertOne: { document: { _id: 1, a: 1 } } },
      { updateOne: { filter: { _id: 1 }, update: { $inc: { a: 1 } } } },
      { updateOne: { filter: { _id: 2 }, update: { $set: { a: 1 } }, upsert: true } },
      { replaceOne: { filter: { _id: 2 }, replacement: { b: 1 } } },
      { deleteMany: { filter: { a: 2 } } },
    ]);
    assert.deepEqual(
      [result.insertedCount, result.matchedCount, result.modifiedCount, result.upsertedIds, result.deletedCount],
      [1, 2, 2, { 2: 2 }, 1]
    );
  }));

test('indexes and collections', () =>
  fresh(async (c, client) => {
    assert.equal(await c.createIndex({ a: 1, b: -1 }, { unique: true }), 'a_1_b_-1');
    assert.equal(await c.createIndex('when', { expireAfterSeconds: 60 }), 'when_1');
    assert.deepEqual((await c.indexes()).map((i) => i.name), ['_id_', 'a_1_b_-1', 'when_1']);
    await c.dropIndex('when_1');
    assert.equal(await c.indexExists('when_1'), false);
    assert.deepEqual((await client.db('test').collections()).map((x) => x.namespace), ['test.c']);
    assert.equal(await c.drop(), true);
    assert.equal(await c.drop(), true);
    assert.deepEqual(await client.db('test').listCollections().toArray(), []);
  }));

test('a file: reopened, locked, sync variants, nothing beside it', async () => {
  const path = join(folder, 'x.mfdb');
  const client = openSync(path);
  await client.db('d').collection('c').insertOne({ _id: 1, long: Long.fromString('9007199254740993') });
  assert.deepEqual(client.db('d').commandSync({ count: 'c' }), { n: 1, ok: 1 });
  await assert.rejects(open(path), (e) => e instanceof MongoServerError && /locked by pid \d+/.test(e.message));
  await client.close();
  await client.close();
  await assert.rejects(client.db('d').command({ ping: 1 }), { name: 'MongoNotConnectedError' });
  assert.deepEqual(readdirSync(folder), ['x.mfdb']);
  const again = await open(path, { promoteLongs: false });
  const found = await again.db('d').collection('c').findOne({ _id: 1 });
  assert.equal(String(found.long), '9007199254740993');
  await again.close();
  await assert.rejects(open(folder), (e) => e.message.includes(folder) && /directory/.test(e.message));
});

test('options reach the engine', async () => {
  const options = async (given) => {
    const client = await open(join(folder, 'options.mfdb'), given);
    const status = await client.db('admin').command({ serverStatus: 1 });
    await client.close();
    return status.multifora.options;
  };
  const { cacheBytes, ...defaults } = await options({});
  assert.ok(cacheBytes > 0 && cacheBytes <= 2 ** 30);
  assert.deepEqual(defaults, { syncEveryMs: 0, readOnly: false, create: true, compress: true, ttlSweepSecs: 60 });
  const given = { cache: 8 * 2 ** 20, durability: 'relaxed', syncEveryMs: 20, create: false, compress: false, ttlSweepSecs: 0 };
  assert.deepEqual(await options(given), {
    cacheBytes: 8 * 2 ** 20, syncEveryMs: 20, readOnly: false, create: false, compress: false, ttlSweepSecs: 0,
  });
  await assert.rejects(options({ durability: 'relaxed', syncEveryMs: 0 }), MongoServerError);
  await assert.rejects(options({ durability: 'never' }), TypeError);
});

test('a real driver client and a TCP listener on the open file', async () => {
  const client = await open(join(folder, 'served.mfdb'));
  await client.db('d').collection('c').insertOne({ _id: 1 });
  const driver = await client.client();
  assert.deepEqual(await driver.db('d').collection('c').findOne(), { _id: 1 });
  const listener = await client.serve();
  const remote = await MongoClient.connect(listener.uri);
  await remote.db('d').collection('c').insertOne({ _id: 2 });
  assert.equal(await client.db('d').collection('c').countDocuments(), 2);
  await remote.close();
  await listener.stop();
  await client.close();
});

test('sessions', () =>
  fresh(async (c, client) => {
    await client.withSession(async (session) => {
      await c.insertOne({ _id: 1 }, { session });
      assert.deepEqual(await c.findOne({}, { session }), { _id: 1 });
      await session.endSession();
      await assert.rejects(c.findOne({}, { session }), TypeError);
    });
  }));

test('writers at once share the work', () =>
  fresh(async (c) => {
    await Promise.all(Array.from({ length: 50 }, () => c.updateOne({ _id: 's' }, { $inc: { n: 1 } }, { upsert: true })));
    assert.deepEqual(await c.findOne(), { _id: 's', n: 50 });
  }));

test('every type survives byte for byte', () =>
  fresh(async (c) => {
    const document = BSON.EJSON.parse(
      '{"_id":1,"d":{"$numberDouble":"-0.0"},"dec":{"$numberDecimal":"1.50"},"l":{"$numberLong":"5"},"t":{"$timestamp":{"t":1,"i":2}},"re":{"$regularExpression":{"pattern":"a","options":"i"}},"min":{"$minKey":1},"max":{"$maxKey":1},"bin":{"$binary":{"base64":"AQI=","subType":"05"}},"n":null,"date":{"$date":{"$numberLong":"-1"}}}',
      { relaxed: false }
    );
    await c.insertOne(document);
    const found = await c.findOne({}, { promoteValues: false, bsonRegExp: true });
    assert.deepEqual(BSON.serialize(found), BSON.serialize(document));
  }));

test('backup: while others write, with progress, stopped in three ways', () =>
  fresh(async (c, client) => {
    await c.insertMany(Array.from({ length: 20000 }, (_, i) => ({ _id: i, text: 'x'.repeat(400) })));
    const path = join(folder, 'copy.mfdb');
    const seen = [];
    const [, late] = await Promise.all([
      client.backup(path, { onProgress: (done, total) => seen.push([done, total]) }),
      c.insertOne({ _id: 'late' }),
    ]);
    assert.ok(late.acknowledged);
    // The last calls may still be on their way.
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(seen.length > 2 && seen.every(([done, total]) => done <= total));
    const copied = await open(path);
    const n = await copied.db('test').collection('c').countDocuments();
    assert.ok(n === 20000 || n === 20001);
    await copied.close();
    await assert.rejects(client.backup(path), (error) => error instanceof MongoServerError && /copy\.mfdb/.test(error.message));

    const never = join(folder, 'never.mfdb');
    const mine = new Error('mine');
    await assert.rejects(client.backup(never, { onProgress: () => { throw mine; } }), mine);
    const controller = new AbortController();
    const aborted = client.backup(never, { signal: controller.signal, onProgress: () => controller.abort(mine) });
    await assert.rejects(aborted, mine);
    const interrupted = client.backup(never, { onProgress: () => client.interrupt() });
    await assert.rejects(interrupted, { code: 11601 });
    assert.ok(!readdirSync(folder).includes('never.mfdb'));
  }));
