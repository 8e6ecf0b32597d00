/** Cursors: batches fetched as they are needed. */
import { type BSONSerializeOptions, type Document, Long, MongoCursorExhaustedError, MongoCursorInUseError } from 'mongodb';
import { bsonOptions, type ClientSession, type OperationOptions } from './client';
import type { Db } from './db';
import { decodeReply } from './errors';

/** What all cursors can do. */
export abstract class AbstractCursor<T = Document> implements AsyncIterable<T> {
  private batch: Document[] = [];
  private at = 0;
  private cursorId: Long | undefined;
  private namespace = '';
  private done = false;
  private fetched = 0;
  private transform: ((document: Document) => unknown) | undefined;

  /** @internal */
  protected constructor(protected readonly db: Db, protected readonly options: OperationOptions & Document) {}

  /** The command that opens the cursor. */
  protected abstract firstCommand(): Document;
  /** Documents that the next getMore may bring; undefined for the engine's own measure. */
  protected abstract nextBatchSize(): number | undefined;

  /** Documents fetched so far. */
  protected get retrieved(): number {
    return this.fetched;
  }

  /** The engine's cursor id; zero when it is exhausted. */
  get id(): Long | undefined {
    return this.cursorId;
  }

  /** True when no more documents can come. */
  get closed(): boolean {
    return this.done && this.at >= this.batch.length;
  }

  /** Whether the cursor has been sent. */
  get initialized(): boolean {
    return this.cursorId !== undefined || this.done;
  }

  protected get session(): ClientSession | undefined {
    return this.options.session;
  }

  protected unstarted(): void {
    if (this.initialized) throw new MongoCursorInUseError();
  }

  private async fetch(): Promise<void> {
    const first = this.cursorId === undefined;
    const command = first
      ? this.firstCommand()
      : { getMore: this.cursorId, collection: this.namespace, batchSize: this.nextBatchSize() };
    const bytes = await this.db.client.run(this.db.databaseName, command, this.options);
    const reply = decodeReply(bytes, this.documentOptions());
    const cursor = reply['cursor'] as Document;
    this.batch = cursor[first ? 'firstBatch' : 'nextBatch'] as Document[];
    this.at = 0;
    this.fetched += this.batch.length;
    // Whatever the options promote int64 to, the id is kept as a Long.
    this.cursorId = Long.fromString(String(cursor['id']));
    this.namespace = (cursor['ns'] as string).slice((cursor['ns'] as string).indexOf('.') + 1);
    this.done = this.cursorId.isZero();
  }

  private documentOptions(): BSONSerializeOptions {
    return bsonOptions(this.options, this.db.bson);
  }

  /** True when `next` will give a document. */
  async hasNext(): Promise<boolean> {
    while (this.at >= this.batch.length) {
      if (this.done) return false;
      await this.fetch();
    }
    return true;
  }

  private take(): T {
    const document = this.batch[this.at++] as Document;
    return (this.transform ? this.transform(document) : document) as T;
  }

  /** The next document, or null at the end. */
  async next(): Promise<T | null> {
    return (await this.hasNext()) ? this.take() : null;
  }

  /** The next document if it is there or one fetch away, else null. */
  async tryNext(): Promise<T | null> {
    if (this.at >= this.batch.length && !this.done) await this.fetch();
    return this.at < this.batch.length ? this.take() : null;
  }

  /** All remaining documents. */
  async toArray(): Promise<T[]> {
    const out: T[] = [];
    while (await this.hasNext()) while (this.at < this.batch.length) out.push(this.take());
    return out;
  }

  /** Calls `work` with each document until it returns false. */
  async forEach(work: (document: T) => boolean | void): Promise<void> {
    for await (const document of this) if (work(document) === false) break;
  }

  /** Changes each document on its way out. */
  map<U>(transform: (document: T) => U): AbstractCursor<U> {
    this.unstarted();
    const before = this.transform;
    this.transform = before
      ? (document) => transform(before(document) as T)
      : (document) => transform(document as T);
    return this as unknown as AbstractCursor<U>;
  }

  /** Documents at hand that have not been read. */
  bufferedCount(): number {
    return this.batch.length - this.at;
  }

  /** Frees what the engine holds for this cursor. */
  async close(): Promise<void> {
    const id = this.cursorId;
    const open = id && !this.done;
    this.done = true;
    this.batch = [];
    this.at = 0;
    if (open) {
      await this.db.client.run(this.db.databaseName, { killCursors: this.namespace, cursors: [id] }, {});
    }
  }

  /** Back to the start, as if it had not been read. */
  rewind(): void {
    void this.close().catch(() => undefined);
    this.cursorId = undefined;
    this.done = false;
    this.fetched = 0;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    if (this.closed && this.initialized) throw new MongoCursorExhaustedError();
    try {
      while (await this.hasNext()) yield this.take();
    } finally {
      await this.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** A cursor over what a command gives (listIndexes, listCollections). */
export class CommandCursor<T = Document> extends AbstractCursor<T> {
  /** @internal */
  constructor(db: Db, private readonly command: Document, options: OperationOptions & Document) {
    super(db, options);
  }

  protected firstCommand(): Document {
    return this.command;
  }

  protected nextBatchSize(): undefined {
    return undefined;
  }
}

/** A query: chain options, then iterate. */
export class FindCursor<T = Document> extends AbstractCursor<T> {
  private readonly find: Document;

  /** @internal */
  constructor(db: Db, private readonly name: string, filter: Document, options: OperationOptions & Document) {
    super(db, options);
    const { session: _, ...rest } = options;
    const { projection, sort, skip, limit, batchSize, hint, comment, maxTimeMS, collation, min, max, let: variables,
      allowDiskUse, returnKey, showRecordId, noCursorTimeout, tailable, awaitData, singleBatch } = rest;
    this.find = {
      filter, projection, sort: sortDocument(sort), skip, limit, batchSize, hint, comment, maxTimeMS, collation, min, max,
      let: variables, allowDiskUse, returnKey, showRecordId, noCursorTimeout, tailable, awaitData, singleBatch,
    };
  }

  private set(name: string, value: unknown): this {
    this.unstarted();
    this.find[name] = value;
    return this;
  }

  filter(filter: Document): this { return this.set('filter', filter); }
  project<U extends Document = Document>(projection: Document): FindCursor<U> {
    return this.set('projection', projection) as unknown as FindCursor<U>;
  }
  sort(sort: unknown, direction?: unknown): this { return this.set('sort', sortDocument(sort, direction)); }
  skip(skip: number): this { return this.set('skip', skip); }
  limit(limit: number): this { return this.set('limit', limit); }
  batchSize(batchSize: number): this { return this.set('batchSize', batchSize); }
  hint(hint: unknown): this { return this.set('hint', hint); }
  comment(comment: unknown): this { return this.set('comment', comment); }
  maxTimeMS(maxTimeMS: number): this { return this.set('maxTimeMS', maxTimeMS); }
  collation(collation: Document): this { return this.set('collation', collation); }
  min(min: Document): this { return this.set('min', min); }
  max(max: Document): this { return this.set('max', max); }
  returnKey(value: boolean): this { return this.set('returnKey', value); }
  showRecordId(value: boolean): this { return this.set('showRecordId', value); }
  allowDiskUse(value = true): this { return this.set('allowDiskUse', value); }

  protected firstCommand(): Document {
    const { limit = 0, batchSize, ...rest } = this.find as { limit?: number; batchSize?: number };
    return {
      find: this.name, ...rest,
      limit: limit === 0 ? undefined : Math.abs(limit),
      // A batch that fills the limit exactly would leave the cursor open for an empty one.
      batchSize: batchSize && batchSize === limit ? batchSize + 1 : batchSize,
      ...(limit < 0 ? { singleBatch: true } : {}),
    };
  }

  protected nextBatchSize(): number | undefined {
    const { limit = 0, batchSize } = this.find as { limit?: number; batchSize?: number };
    const left = limit > 0 ? limit - this.retrieved : 0;
    return batchSize && left > 0 ? Math.min(batchSize, left) : batchSize || undefined;
  }

  /** A fresh cursor with the same query and options. */
  clone(): FindCursor<T> {
    const other = new FindCursor<T>(this.db, this.name, {}, this.options);
    Object.assign(other.find, this.find);
    return other;
  }

  /** How many documents match, with the query's skip and limit. */
  async count(): Promise<number> {
    const { filter, skip, limit, hint, maxTimeMS, collation } = this.find;
    const command = { count: this.name, query: filter, skip, limit, hint, maxTimeMS, collation };
    return Number((await this.db.command(command, this.options))['n']);
  }

  /** The plan. */
  async explain(verbosity: string | boolean = 'allPlansExecution'): Promise<Document> {
    return this.db.command({ explain: this.firstCommand(), verbosity: verbosityName(verbosity) }, { session: this.session });
  }
}

/** An aggregation. */
export class AggregationCursor<T = Document> extends AbstractCursor<T> {
  readonly pipeline: Document[];

  /** @internal */
  constructor(db: Db, private readonly target: string | 1, pipeline: Document[], options: OperationOptions & Document) {
    super(db, options);
    if (!Array.isArray(pipeline)) throw new TypeError('a pipeline is an array of stages');
    this.pipeline = [...pipeline];
  }

  /** Adds a stage. */
  addStage(stage: Document): this {
    this.unstarted();
    this.pipeline.push(stage);
    return this;
  }

  batchSize(batchSize: number): this {
    this.unstarted();
    this.options['batchSize'] = batchSize;
    return this;
  }

  match(value: Document): this { return this.addStage({ $match: value }); }
  group(value: Document): this { return this.addStage({ $group: value }); }
  project(value: Document): this { return this.addStage({ $project: value }); }
  sort(value: Document): this { return this.addStage({ $sort: value }); }
  limit(value: number): this { return this.addStage({ $limit: value }); }
  skip(value: number): this { return this.addStage({ $skip: value }); }
  unwind(value: Document | string): this { return this.addStage({ $unwind: value }); }
  lookup(value: Document): this { return this.addStage({ $lookup: value }); }
  out(value: unknown): this { return this.addStage({ $out: value }); }

  protected firstCommand(): Document {
    const { batchSize, allowDiskUse, hint, comment, maxTimeMS, collation, let: variables, bypassDocumentValidation } =
      this.options;
    return {
      aggregate: this.target, pipeline: this.pipeline, cursor: batchSize === undefined ? {} : { batchSize },
      allowDiskUse, hint, comment, maxTimeMS, collation, let: variables, bypassDocumentValidation,
    };
  }

  protected nextBatchSize(): number | undefined {
    return (this.options['batchSize'] as number | undefined) || undefined;
  }

  /** The plan. */
  async explain(verbosity: string | boolean = 'allPlansExecution'): Promise<Document> {
    const explain = this.firstCommand();
    return this.db.command({ explain, verbosity: verbosityName(verbosity) }, { session: this.session });
  }
}

function verbosityName(verbosity: string | boolean): string {
  if (typeof verbosity === 'string') return verbosity;
  return verbosity ? 'allPlansExecution' : 'queryPlanner';
}

const DIRECTIONS: Record<string, number> = { asc: 1, ascending: 1, '1': 1, desc: -1, descending: -1, '-1': -1 };

function directionOf(value: unknown): unknown {
  if (value === undefined) return 1;
  return typeof value === 'object' ? value : (DIRECTIONS[String(value).toLowerCase()] ?? value);
}

/** A sort in any of the driver's forms, as the document that commands take. */
export function sortDocument(sort: unknown, direction?: unknown): Document | undefined {
  if (sort === undefined || sort === null) return undefined;
  if (typeof sort === 'string') return { [sort]: directionOf(direction) };
  if (sort instanceof Map) return Object.fromEntries([...sort].map(([k, v]) => [k, directionOf(v)]));
  if (!Array.isArray(sort)) {
    return Object.fromEntries(Object.entries(sort as Document).map(([k, v]) => [k, directionOf(v)]));
  }
  if (sort.length === 2 && typeof sort[0] === 'string' && String(sort[1]).toLowerCase() in DIRECTIONS) {
    return { [sort[0]]: directionOf(sort[1]) };
  }
  return Object.fromEntries(
    sort.map((item: unknown) => (Array.isArray(item) ? [item[0], directionOf(item[1])] : [String(item), 1]))
  );
}
