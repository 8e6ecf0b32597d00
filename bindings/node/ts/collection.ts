/** A collection: the documents, and what can be done with them. */
import {
  BSON, type BSONSerializeOptions, type DeleteResult, type Document, type InsertManyResult,
  type InsertOneResult, ObjectId, type UpdateResult,
} from 'mongodb';
import { type BulkWriteResult, runBulk } from './bulk';
import type { OperationOptions } from './client';
import { AggregationCursor, CommandCursor, FindCursor, sortDocument } from './cursor';
import type { Db } from './db';
import { checkWrite } from './errors';

type Options = OperationOptions & Document;

const NAMESPACE_NOT_FOUND = 26;

/** A collection, shaped like the driver's Collection. */
export class Collection<T extends Document = Document> {
  /** @internal */
  constructor(readonly db: Db, readonly collectionName: string, /** @internal */ readonly bson: BSONSerializeOptions) {
    if (typeof collectionName !== 'string' || collectionName === '') throw new TypeError('a collection needs a name');
  }

  /** The database's name. */
  get dbName(): string {
    return this.db.databaseName;
  }

  /** `database.collection`. */
  get namespace(): string {
    return `${this.dbName}.${this.collectionName}`;
  }

  private async command(command: Document, options: OperationOptions): Promise<Document> {
    return this.db.client.runCommand(this.dbName, command, { ...this.bson, ...options });
  }

  // ---- insert

  /** Inserts a document; it gets an `_id` when it has none. */
  async insertOne(document: Document, options: Options = {}): Promise<InsertOneResult> {
    giveId(document);
    const { session, bypassDocumentValidation, comment } = options;
    const reply = await this.db.client.runCommand(
      this.dbName, { insert: this.collectionName, ordered: true, bypassDocumentValidation, comment },
      { ...this.bson, ...bsonOf(options), session }, 'documents', this.encode(document, options)
    );
    checkWrite(reply);
    return { acknowledged: true, insertedId: document['_id'] };
  }

  /** Inserts documents; rejects with MongoBulkWriteError when some could not be. */
  async insertMany(documents: Document[], options: Options = {}): Promise<InsertManyResult> {
    if (!Array.isArray(documents)) throw new TypeError('Argument "docs" must be an array of documents');
    const result = await this.bulkWrite(documents.map((document) => ({ insertOne: { document } })), options);
    return { acknowledged: true, insertedCount: result.insertedCount, insertedIds: result.insertedIds };
  }

  /** Runs `insertOne`, `updateOne`, … operations in few commands. */
  async bulkWrite(operations: Document[], options: Options = {}): Promise<BulkWriteResult> {
    return runBulk(this, operations, options);
  }

  /** @internal */
  encode(document: Document, options: BSONSerializeOptions): Uint8Array {
    const { ignoreUndefined, serializeFunctions } = { ...this.bson, ...options };
    return BSON.serialize(document, { ignoreUndefined: ignoreUndefined ?? false, serializeFunctions });
  }

  // ---- update and delete

  private async update(filter: Document, u: unknown, multi: boolean, options: Options): Promise<UpdateResult> {
    const { bypassDocumentValidation, comment, let: variables } = options;
    const updates = [updateStatement(filter, u, multi, options)];
    const reply = await this.command(
      { update: this.collectionName, ordered: true, updates, bypassDocumentValidation, comment, let: variables },
      options
    );
    checkWrite(reply);
    const upserted = reply['upserted'] as Document[] | undefined;
    return {
      acknowledged: true,
      matchedCount: upserted ? 0 : Number(reply['n']),
      modifiedCount: Number(reply['nModified'] ?? 0),
      upsertedCount: upserted?.length ?? 0,
      upsertedId: (upserted?.[0]?.['_id'] as ObjectId | undefined) ?? null,
    };
  }

  /** Updates the first document that matches. */
  async updateOne(filter: Document, update: Document | Document[], options: Options = {}): Promise<UpdateResult> {
    checkUpdate(update);
    return this.update(filter, update, false, options);
  }

  /** Updates all documents that match. */
  async updateMany(filter: Document, update: Document | Document[], options: Options = {}): Promise<UpdateResult> {
    checkUpdate(update);
    return this.update(filter, update, true, options);
  }

  /** Replaces the first document that matches. */
  async replaceOne(filter: Document, replacement: Document, options: Options = {}): Promise<UpdateResult> {
    checkReplacement(replacement);
    return this.update(filter, replacement, false, options);
  }

  private async delete(filter: Document, limit: number, options: Options): Promise<DeleteResult> {
    const { comment, let: variables } = options;
    const deletes = [deleteStatement(filter, limit, options)];
    const reply = await this.command({ delete: this.collectionName, ordered: true, deletes, comment, let: variables }, options);
    checkWrite(reply);
    return { acknowledged: true, deletedCount: Number(reply['n']) };
  }

  /** Deletes the first document that matches. */
  async deleteOne(filter: Document = {}, options: Options = {}): Promise<DeleteResult> {
    return this.delete(filter, 1, options);
  }

  /** Deletes all documents that match. */
  async deleteMany(filter: Document = {}, options: Options = {}): Promise<DeleteResult> {
    return this.delete(filter, 0, options);
  }

  // ---- find

  /** Queries. */
  find(filter: Document = {}, options: Options = {}): FindCursor<T> {
    return new FindCursor<T>(this.db, this.collectionName, filter, { ...this.bson, ...options });
  }

  /** The first document that matches, or null. */
  async findOne(filter: Document = {}, options: Options = {}): Promise<T | null> {
    return this.find(filter, { ...options, limit: -1, batchSize: 1 }).next();
  }

  private async findAndModify(filter: Document, change: Document, options: Options): Promise<T | Document | null> {
    const { projection, sort, hint, comment, maxTimeMS, collation, bypassDocumentValidation, let: variables,
      includeResultMetadata = false } = options;
    const reply = await this.command(
      {
        findAndModify: this.collectionName, query: filter, ...change, fields: projection, sort: sortDocument(sort), hint,
        comment, maxTimeMS, collation, bypassDocumentValidation, let: variables,
      },
      options
    );
    return includeResultMetadata ? reply : (reply['value'] as T | null);
  }

  /** Deletes the first document that matches and gives it back. */
  async findOneAndDelete(filter: Document, options: Options = {}): Promise<T | Document | null> {
    return this.findAndModify(filter, { remove: true }, options);
  }

  /** Replaces the first document that matches; gives the old one, or the new one. */
  async findOneAndReplace(filter: Document, replacement: Document, options: Options = {}): Promise<T | Document | null> {
    checkReplacement(replacement);
    const change = { update: replacement, new: options['returnDocument'] === 'after', upsert: options['upsert'] ?? false };
    return this.findAndModify(filter, change, options);
  }

  /** Updates the first document that matches; gives the old one, or the new one. */
  async findOneAndUpdate(
    filter: Document, update: Document | Document[], options: Options = {}
  ): Promise<T | Document | null> {
    checkUpdate(update);
    const { arrayFilters, upsert = false, returnDocument } = options;
    return this.findAndModify(filter, { update, new: returnDocument === 'after', upsert, arrayFilters }, options);
  }

  // ---- counting, distinct, aggregate

  /** How many documents match. */
  async countDocuments(filter: Document = {}, options: Options = {}): Promise<number> {
    const { skip, limit, ...rest } = options;
    const pipeline: Document[] = [{ $match: filter }];
    if (typeof skip === 'number') pipeline.push({ $skip: skip });
    if (typeof limit === 'number') pipeline.push({ $limit: limit });
    pipeline.push({ $group: { _id: 1, n: { $sum: 1 } } });
    const found = await this.aggregate<Document>(pipeline, rest).toArray();
    return Number(found[0]?.['n'] ?? 0);
  }

  /** How many documents there are, from the collection's own count. */
  async estimatedDocumentCount(options: Options = {}): Promise<number> {
    const { maxTimeMS, comment } = options;
    return Number((await this.command({ count: this.collectionName, maxTimeMS, comment }, options))['n']);
  }

  /** The distinct values of a field. */
  async distinct(key: string, filter: Document = {}, options: Options = {}): Promise<unknown[]> {
    const { collation, comment, maxTimeMS, hint } = options;
    const command = { distinct: this.collectionName, key, query: filter, collation, comment, maxTimeMS, hint };
    return (await this.command(command, options))['values'] as unknown[];
  }

  /** Runs an aggregation pipeline. */
  aggregate<U extends Document = Document>(pipeline: Document[] = [], options: Options = {}): AggregationCursor<U> {
    return new AggregationCursor<U>(this.db, this.collectionName, pipeline, { ...this.bson, ...options });
  }

  // ---- indexes

  /** Creates an index; gives its name. */
  async createIndex(spec: unknown, options: Options = {}): Promise<string> {
    const { session, commitQuorum, maxTimeMS, comment, ...index } = options;
    const key = sortDocument(spec) ?? {};
    return (await this.createIndexes([{ key, ...index }], { session, commitQuorum, maxTimeMS, comment }))[0]!;
  }

  /** Creates indexes; gives their names. */
  async createIndexes(specs: Document[], options: Options = {}): Promise<string[]> {
    const { session, commitQuorum, maxTimeMS, comment } = options;
    const indexes = specs.map((spec) => ({ ...spec, key: sortDocument(spec['key']), name: spec['name'] ?? indexName(spec['key']) }));
    await this.command({ createIndexes: this.collectionName, indexes, commitQuorum, maxTimeMS, comment }, { session });
    return indexes.map(({ name }) => name as string);
  }

  /** One document per index. */
  listIndexes(options: Options = {}): CommandCursor<Document> {
    const { session } = options;
    return new CommandCursor(this.db, { listIndexes: this.collectionName, cursor: {} }, { ...this.bson, session });
  }

  /** All indexes. */
  async indexes(options: Options = {}): Promise<Document[]> {
    return this.listIndexes(options).toArray();
  }

  /** Whether there are indexes of these names. */
  async indexExists(names: string | string[], options: Options = {}): Promise<boolean> {
    const have = new Set((await this.indexes(options)).map((index) => index['name'] as string));
    return [names].flat().every((name) => have.has(name));
  }

  /** Drops an index by name. */
  async dropIndex(name: string, options: Options = {}): Promise<Document> {
    return this.command({ dropIndexes: this.collectionName, index: name }, options);
  }

  /** Drops all indexes but the one on `_id`. */
  async dropIndexes(options: Options = {}): Promise<boolean> {
    await this.dropIndex('*', options);
    return true;
  }

  // ---- the collection itself

  /** Drops the collection; true when it is gone. */
  async drop(options: Options = {}): Promise<boolean> {
    try {
      await this.command({ drop: this.collectionName }, options);
    } catch (error) {
      if ((error as { code?: number }).code !== NAMESPACE_NOT_FOUND) throw error;
    }
    return true;
  }

  /** Gives the collection another name. */
  async rename(newName: string, options: Options = {}): Promise<Collection<T>> {
    const { session, dropTarget } = options;
    const command = { renameCollection: this.namespace, to: `${this.dbName}.${newName}`, dropTarget };
    await this.db.client.runCommand('admin', command, { session });
    return this.db.collection<T>(newName);
  }

  /** The options it was created with. */
  async options(options: Options = {}): Promise<Document> {
    const found = await this.db.listCollections({ name: this.collectionName }, options).next();
    return (found?.['options'] as Document | undefined) ?? {};
  }
}

// ---- statements and checks, shared with bulk writes

/** One element of the update command's `updates`. */
export function updateStatement(filter: Document, u: unknown, multi: boolean, options: Document): Document {
  const { upsert = false, collation, arrayFilters, hint, sort } = options;
  return { q: filter, u, multi, upsert, collation, arrayFilters, hint, sort: sortDocument(sort) };
}

/** One element of the delete command's `deletes`. */
export function deleteStatement(filter: Document, limit: number, options: Document): Document {
  const { collation, hint } = options;
  return { q: filter, limit, collation, hint };
}

/** Gives a document an `_id` when it has none, in place, as the driver does. */
export function giveId(document: Document): void {
  if (document === null || typeof document !== 'object') throw new TypeError('a document must be an object');
  document['_id'] ??= new ObjectId();
}

/** Refuses what cannot be an update. */
export function checkUpdate(update: unknown): void {
  const stages = Array.isArray(update) ? update : [update];
  const atomic = (stage: unknown): boolean =>
    typeof stage === 'object' && stage !== null && Object.keys(stage)[0]?.startsWith('$') === true;
  if (!stages.every(atomic) || stages.length === 0) throw new TypeError('Update document requires atomic operators');
}

/** Refuses what cannot be a replacement. */
export function checkReplacement(replacement: unknown): void {
  if (typeof replacement !== 'object' || replacement === null || Array.isArray(replacement)) {
    throw new TypeError('a replacement must be a document');
  }
  if (Object.keys(replacement)[0]?.startsWith('$')) throw new TypeError('Replacement document must not contain atomic operators');
}

function indexName(key: unknown): string {
  return Object.entries(sortDocument(key) ?? {}).map(([field, kind]) => `${field}_${String(kind)}`).join('_');
}

function bsonOf(options: BSONSerializeOptions): BSONSerializeOptions {
  const { promoteLongs, promoteValues, promoteBuffers, useBigInt64, bsonRegExp, ignoreUndefined } = options;
  return JSON.parse(
    JSON.stringify({ promoteLongs, promoteValues, promoteBuffers, useBigInt64, bsonRegExp, ignoreUndefined })
  ) as BSONSerializeOptions;
}
