/** Bulk writes: runs of operations of one kind become one command each. */
import { type Document, MongoBulkWriteError } from 'mongodb';
import type { OperationOptions } from './client';
import { checkReplacement, checkUpdate, type Collection, deleteStatement, giveId, updateStatement } from './collection';

// What one command may carry (hello says the same).
const MAX_BATCH_OPERATIONS = 100_000;
const MAX_BATCH_BYTES = 48_000_000;

type Kind = 'insert' | 'update' | 'delete';
const ARRAY: Record<Kind, string> = { insert: 'documents', update: 'updates', delete: 'deletes' };

interface Statement {
  kind: Kind;
  body: Document;
}

const STATEMENTS: Record<string, (op: Document) => Statement> = {
  insertOne(op) {
    const document = (op['document'] ?? op) as Document;
    giveId(document);
    return { kind: 'insert', body: document };
  },
  updateOne(op) {
    checkUpdate(op['update']);
    return { kind: 'update', body: updateStatement(op['filter'], op['update'], false, op) };
  },
  updateMany(op) {
    checkUpdate(op['update']);
    return { kind: 'update', body: updateStatement(op['filter'], op['update'], true, op) };
  },
  replaceOne(op) {
    checkReplacement(op['replacement']);
    return { kind: 'update', body: updateStatement(op['filter'], op['replacement'], false, op) };
  },
  deleteOne: (op) => ({ kind: 'delete', body: deleteStatement(op['filter'], 1, op) }),
  deleteMany: (op) => ({ kind: 'delete', body: deleteStatement(op['filter'], 0, op) }),
};

function parse(operation: Document): Statement {
  const [name, op] = Object.entries(operation)[0] ?? ['', undefined];
  const make = STATEMENTS[name];
  if (!make || typeof op !== 'object' || op === null) {
    throw new TypeError(`bulkWrite only supports ${Object.keys(STATEMENTS).join(', ')}`);
  }
  return make(op as Document);
}

interface Batch {
  kind: Kind;
  indexes: number[];
  documents: Uint8Array[];
}

/** Cuts the statements into commands; unordered ones of one kind travel together. */
function* batches(collection: Collection, statements: Statement[], ordered: boolean, options: Document): Generator<Batch> {
  const order = [...statements.keys()];
  const kinds = Object.keys(ARRAY);
  if (!ordered) order.sort((a, b) => kinds.indexOf(statements[a]!.kind) - kinds.indexOf(statements[b]!.kind) || a - b);
  let batch: Batch | undefined;
  let size = 0;
  for (const i of order) {
    const { kind, body } = statements[i]!;
    // Statements leave out the options that were not given; documents keep the caller's choice.
    const encoded = collection.encode(body, kind === 'insert' ? options : { ...options, ignoreUndefined: true });
    const full = size + encoded.length > MAX_BATCH_BYTES || (batch?.documents.length ?? 0) >= MAX_BATCH_OPERATIONS;
    if (batch && (batch.kind !== kind || full)) {
      yield batch;
      batch = undefined;
    }
    if (!batch) {
      batch = { kind, indexes: [], documents: [] };
      size = 0;
    }
    batch.indexes.push(i);
    batch.documents.push(encoded);
    size += encoded.length;
  }
  if (batch) yield batch;
}

/** One write that failed, with the driver's fields (the driver's own class cannot be imported). */
export class WriteError {
  constructor(readonly err: { index: number; code: number; errmsg: string; errInfo?: Document; op: Document }) {}
  get code(): number { return this.err.code; }
  get index(): number { return this.err.index; }
  get errmsg(): string { return this.err.errmsg; }
  get errInfo(): Document | undefined { return this.err.errInfo; }
  getOperation(): Document { return this.err.op; }
  toJSON(): Document { return { code: this.code, index: this.index, errmsg: this.errmsg, op: this.err.op }; }
  toString(): string { return `WriteError(${JSON.stringify(this.toJSON())})`; }
}

interface Totals {
  ok: number;
  writeErrors: WriteError[];
  writeConcernErrors: unknown[];
  insertedIds: { index: number; _id: unknown }[];
  nInserted: number;
  nUpserted: number;
  nMatched: number;
  nModified: number;
  nRemoved: number;
  upserted: Document[];
}

/** What a bulk write did, with the driver's fields (the driver's own class cannot be imported). */
export class BulkWriteResult {
  readonly ok: number;
  readonly insertedCount: number;
  readonly matchedCount: number;
  readonly modifiedCount: number;
  readonly deletedCount: number;
  readonly upsertedCount: number;
  readonly insertedIds: Record<number, any>;
  readonly upsertedIds: Record<number, any>;
  private readonly writeErrors: WriteError[];

  /** @internal */
  constructor(totals: Totals, ordered: boolean) {
    this.ok = totals.ok;
    this.insertedCount = totals.nInserted;
    this.matchedCount = totals.nMatched;
    this.modifiedCount = totals.nModified;
    this.deletedCount = totals.nRemoved;
    this.upsertedCount = totals.upserted.length;
    this.upsertedIds = Object.fromEntries(totals.upserted.map((u) => [u['index'], u['_id']]));
    const failed = new Set(totals.writeErrors.map((error) => error.index));
    const stop = ordered && failed.size > 0 ? Math.min(...failed) : Infinity;
    const inserted = totals.insertedIds.filter(({ index }) => index < stop && !failed.has(index));
    this.insertedIds = Object.fromEntries(inserted.map(({ index, _id }) => [index, _id]));
    this.writeErrors = totals.writeErrors;
    Object.defineProperty(this, 'writeErrors', { enumerable: false });
  }

  isOk(): boolean { return this.ok === 1; }
  hasWriteErrors(): boolean { return this.writeErrors.length > 0; }
  getWriteErrors(): WriteError[] { return this.writeErrors; }
  getWriteErrorCount(): number { return this.writeErrors.length; }
  getWriteErrorAt(index: number): WriteError | undefined { return this.writeErrors[index]; }
}

/** Runs the operations; rejects with MongoBulkWriteError when any of them failed. */
export async function runBulk(
  collection: Collection, operations: Document[], options: OperationOptions & Document
): Promise<BulkWriteResult> {
  if (!Array.isArray(operations)) throw new TypeError('Argument "operations" must be an array of documents');
  if (operations.length === 0) throw new TypeError('Invalid BulkOperation, Batch cannot be empty');
  const { ordered = true, session, bypassDocumentValidation, comment, let: variables } = options as Document;
  const statements = operations.map(parse);
  const result: Totals = {
    ok: 1, writeErrors: [], writeConcernErrors: [],
    insertedIds: statements.flatMap((s, index) => (s.kind === 'insert' ? [{ index, _id: s.body['_id'] }] : [])),
    nInserted: 0, nUpserted: 0, nMatched: 0, nModified: 0, nRemoved: 0, upserted: [],
  };
  for (const batch of batches(collection, statements, ordered as boolean, options)) {
    const { kind, indexes, documents } = batch;
    const command = {
      [kind]: collection.collectionName, ordered, comment,
      bypassDocumentValidation: kind === 'delete' ? undefined : bypassDocumentValidation,
      let: kind === 'insert' ? undefined : variables,
    };
    const reply = await collection.db.client.runCommand(
      collection.dbName, command, { ...collection.bson, session }, ARRAY[kind], Buffer.concat(documents)
    );
    const n = Number(reply['n']);
    const upserted = (reply['upserted'] ?? []) as Document[];
    if (kind === 'insert') result.nInserted += n;
    if (kind === 'delete') result.nRemoved += n;
    if (kind === 'update') {
      result.nUpserted += upserted.length;
      result.nMatched += n - upserted.length;
      result.nModified += Number(reply['nModified'] ?? 0);
      result.upserted.push(...upserted.map((u) => ({ ...u, index: indexes[Number(u['index'])] })));
    }
    for (const error of (reply['writeErrors'] ?? []) as Document[]) {
      const index = indexes[Number(error['index'])]!;
      const { errmsg, errInfo } = error as { errmsg: string; errInfo?: Document };
      const code = Number(error['code']);
      result.writeErrors.push(new WriteError({ index, code, errmsg, errInfo, op: statements[index]!.body }));
    }
    if (ordered && result.writeErrors.length > 0) break;
  }
  const bulk = new BulkWriteResult(result, ordered as boolean);
  const first = result.writeErrors[0];
  if (first) {
    const error = { message: first.errmsg ?? 'write operation failed', code: first.code, writeErrors: result.writeErrors };
    throw new MongoBulkWriteError(error as never, bulk as never);
  }
  return bulk;
}
