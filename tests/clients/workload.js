// The workload in mongosh: the same steps and answers as in workload.mjs and workload.py.
// The database name comes from the environment; the last line is what was observed, as JSON.
const target = db.getSiblingDB(process.env.WORKLOAD_DB);
const seen = {};

seen.inserted = target.kept.insertOne({ _id: 1, kind: 'a', n: 1 }).insertedId;
target.kept.insertMany([2, 3, 4, 5].map((n) => ({ _id: n, kind: n % 2 ? 'a' : 'b', n })));
seen.found = target.kept.find({ n: { $gt: 3 } }).sort({ _id: 1 }).toArray().map((d) => d._id);
seen.modified = target.kept.updateOne({ _id: 2 }, { $set: { n: 20 } }).modifiedCount;
seen.deleted = target.kept.deleteOne({ _id: 3 }).deletedCount;
seen.index = target.kept.createIndex({ at: 1 }, { expireAfterSeconds: 3600 });
seen.ttl = Number(target.kept.getIndexes().find((i) => i.name === seen.index).expireAfterSeconds);
seen.groups = Object.fromEntries(
  target.kept.aggregate([{ $group: { _id: '$kind', sum: { $sum: '$n' } } }]).toArray().map((d) => [d._id, Number(d.sum)])
);
target.kept.insertOne({
  _id: 'types', double: 1.5, string: 'ä€𝄞', document: { b: 1, a: [null, true] }, binary: BinData(0, 'AAECAw=='),
  oid: ObjectId('0123456789abcdef01234567'), date: ISODate('2024-02-29T12:34:56.789Z'), regex: /^a.b/i,
  int: NumberInt(7), long: NumberLong('9007199254740993'), decimal: NumberDecimal('1.10'),
  timestamp: Timestamp({ t: 5, i: 6 }), min: MinKey(), max: MaxKey(), code: Code('x'),
});

const many = [];
for (let i = 0; i < 10000; i++) many.push({ _id: i, text: 'document ' + i });
target.many.insertMany(many);
seen.streamed = target.many.find().batchSize(500).toArray().length;

try {
  target.kept.insertOne({ _id: 1 });
} catch (error) {
  seen.duplicate = [error.code, /E11000 duplicate key error/.test(error.message)];
}

target.dropped.insertOne({ _id: 1 });
seen.drop = target.dropped.drop();
seen.collections = target.getCollectionNames().sort();
print(JSON.stringify(seen));
