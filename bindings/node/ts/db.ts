/** A database: its collections, and commands. */
import type { BSONSerializeOptions, Document } from 'mongodb';
import type { MultiforaClient, OperationOptions } from './client';
import { bsonOptions } from './client';
import { Collection } from './collection';
import { AggregationCursor, CommandCursor } from './cursor';

/** A database, shaped like the driver's Db. */
export class Db {
  /** @internal */
  constructor(
    readonly client: MultiforaClient, readonly databaseName: string, /** @internal */ readonly bson: BSONSerializeOptions
  ) {
    if (typeof databaseName !== 'string' || databaseName === '') throw new TypeError('a database needs a name');
  }

  /** The database's name. */
  get namespace(): string {
    return this.databaseName;
  }

  /** A collection by name. */
  collection<T extends Document = Document>(name: string, options: BSONSerializeOptions = {}): Collection<T> {
    return new Collection<T>(this, name, bsonOptions(options, this.bson));
  }

  /** Runs any command. */
  async command(command: Document, options: OperationOptions = {}): Promise<Document> {
    return this.client.runCommand(this.databaseName, command, { ...this.bson, ...options });
  }

  /** Runs any command, blocking. */
  commandSync(command: Document, options: OperationOptions = {}): Document {
    return this.client.runSync(this.databaseName, command, { ...this.bson, ...options });
  }

  /** Creates a collection explicitly. */
  async createCollection<T extends Document = Document>(
    name: string, options: Document & OperationOptions = {}
  ): Promise<Collection<T>> {
    const { session, ...rest } = options;
    await this.command({ create: name, ...rest }, { session });
    return this.collection<T>(name);
  }

  /** Drops a collection; true when it is gone. */
  async dropCollection(name: string, options: OperationOptions = {}): Promise<boolean> {
    return this.collection(name).drop(options);
  }

  /** Drops the database and everything in it. */
  async dropDatabase(options: OperationOptions = {}): Promise<boolean> {
    await this.command({ dropDatabase: 1 }, options);
    return true;
  }

  /** One document per collection. */
  listCollections(filter: Document = {}, options: Document & OperationOptions = {}): CommandCursor<Document> {
    const { session, batchSize, ...rest } = options;
    const cursor = batchSize === undefined ? {} : { batchSize };
    return new CommandCursor(this, { listCollections: 1, filter, cursor, ...rest }, { ...this.bson, session });
  }

  /** All collections. */
  async collections(options: OperationOptions = {}): Promise<Collection[]> {
    const names = await this.listCollections({}, { nameOnly: true, ...options }).toArray();
    return names.map(({ name }) => this.collection(name as string));
  }

  /** Runs a pipeline that needs no collection. */
  aggregate<T extends Document = Document>(
    pipeline: Document[] = [], options: Document & OperationOptions = {}
  ): AggregationCursor<T> {
    return new AggregationCursor<T>(this, 1, pipeline, { ...this.bson, ...options });
  }

  /** Creates an index on a collection. */
  async createIndex(name: string, spec: unknown, options: Document & OperationOptions = {}): Promise<string> {
    return this.collection(name).createIndex(spec, options);
  }

  /** Commands of the admin database. */
  admin(): Admin {
    return new Admin(this.client.db('admin'));
  }

  /** Figures of the database. */
  async stats(options: OperationOptions & { scale?: number } = {}): Promise<Document> {
    const { scale, ...rest } = options;
    return this.command({ dbStats: 1, scale }, rest);
  }
}

/** Commands of the admin database, as the driver's Admin names them. */
export class Admin {
  /** @internal */
  constructor(private readonly db: Db) {}

  /** Runs any command on `admin`. */
  async command(command: Document, options: OperationOptions = {}): Promise<Document> {
    return this.db.command(command, options);
  }

  /** Is anybody there. */
  async ping(options: OperationOptions = {}): Promise<Document> {
    return this.command({ ping: 1 }, options);
  }

  /** What `buildInfo` says. */
  async buildInfo(options: OperationOptions = {}): Promise<Document> {
    return this.command({ buildInfo: 1 }, options);
  }

  /** The databases. */
  async listDatabases(options: OperationOptions & Document = {}): Promise<Document> {
    const { session, ...rest } = options;
    return this.command({ listDatabases: 1, ...rest }, { session });
  }

  /** What `serverStatus` says. */
  async serverStatus(options: OperationOptions = {}): Promise<Document> {
    return this.command({ serverStatus: 1 }, options);
  }
}
