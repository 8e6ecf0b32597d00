/** An open file: databases, sessions, the listener. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Binary, BSON, type BSONSerializeOptions, type Document, MongoClient, type MongoClientOptions, MongoNotConnectedError,
} from 'mongodb';
import { Db } from './db';
import { decodeReply, nativeError } from './errors';
import { type Engine, native, type NativeListener, type NativeOpenOptions } from './native';

/** Options of {@link open}. */
export interface OpenOptions extends BSONSerializeOptions {
  /** Bytes of memory for data; default a quarter of memory, at most 1 GiB. */
  cache?: number;
  /** `'sync'` (default): an acknowledged write survives power loss; `'relaxed'`: a crash or power loss after at most `syncEveryMs`. */
  durability?: 'sync' | 'relaxed';
  /** Milliseconds between syncs with relaxed durability; default 100. */
  syncEveryMs?: number;
  /** Refuse writes; works in folders that cannot be written. */
  readOnly?: boolean;
  /** Make the file when it is not there; default true. */
  create?: boolean;
  /** Compress what is written; default true. */
  compress?: boolean;
  /** Seconds between two sweeps for expired documents; default 60, 0 for never. */
  ttlSweepSecs?: number;
}

/** Options of {@link MultiforaClient.serve}. */
export interface ServeOptions {
  /** Address to bind; loopback unless told otherwise. */
  bind?: string;
  /** TCP port; 0 (default) for any that is free, null for no TCP. */
  port?: number | null;
  /** Also (or only) listen on this Unix socket. */
  socket?: string;
  /** Announce a one-member replica set of this name. */
  replicaSet?: string;
  /** `host:port` to announce for it. */
  advertise?: string;
}

/** Options of {@link MultiforaClient.backup}. */
export interface BackupOptions {
  /** Called now and then with the number of records that are copied, and of all. What it throws stops the backup. */
  onProgress?: (done: number, total: number) => void;
  /** Stops the backup when it is aborted. */
  signal?: AbortSignal;
}

/** Options that every operation takes. */
export interface OperationOptions extends BSONSerializeOptions {
  session?: ClientSession;
}

/** Opens a file, or `':memory:'`. Rejects with MongoServerError: locked, damaged, not to be opened, and why. */
export async function open(path: string, options: OpenOptions = {}): Promise<MultiforaClient> {
  try {
    return new MultiforaClient(await native.Engine.open(path, nativeOptions(options)), path, options);
  } catch (error) {
    throw nativeError(error);
  }
}

/** Like {@link open}, blocking. */
export function openSync(path: string, options: OpenOptions = {}): MultiforaClient {
  try {
    return new MultiforaClient(native.Engine.openSync(path, nativeOptions(options)), path, options);
  } catch (error) {
    throw nativeError(error);
  }
}

function nativeOptions(options: OpenOptions): NativeOpenOptions {
  const { cache, durability = 'sync', syncEveryMs = 100, readOnly, create, compress, ttlSweepSecs } = options;
  if (durability !== 'sync' && durability !== 'relaxed') {
    throw new TypeError(`durability must be 'sync' or 'relaxed', not ${String(durability)}`);
  }
  return { cache, relaxedMs: durability === 'relaxed' ? syncEveryMs : undefined, readOnly, create, compress, ttlSweepSecs };
}

const BSON_OPTIONS = [
  'promoteLongs', 'promoteValues', 'promoteBuffers', 'useBigInt64', 'bsonRegExp', 'ignoreUndefined', 'serializeFunctions',
] as const;

/** The BSON options among `options`, over those of the parent. */
export function bsonOptions(options: BSONSerializeOptions, parent: BSONSerializeOptions = {}): BSONSerializeOptions {
  const out: Document = { ...parent };
  for (const name of BSON_OPTIONS) if (options[name] !== undefined) out[name] = options[name];
  return out;
}

/** An open file, shaped like the driver's MongoClient. Get one from {@link open}. */
export class MultiforaClient {
  /** @internal */
  readonly bson: BSONSerializeOptions;
  private readonly cleanup: (() => Promise<void>)[] = [];
  private privateUri: Promise<string> | undefined;
  private closing: Promise<void> | undefined;

  /** @internal */
  constructor(private readonly engine: Engine, readonly path: string, options: BSONSerializeOptions) {
    this.bson = bsonOptions(options);
  }

  /** A database by name. */
  db(name = 'test', options: BSONSerializeOptions = {}): Db {
    return new Db(this, name, bsonOptions(options, this.bson));
  }

  /** @internal Runs a command and gives the reply's bytes. */
  async run(
    db: string, command: Document, options: OperationOptions, sequence?: string, documents?: Uint8Array
  ): Promise<Uint8Array> {
    const body = this.encode(command, options);
    try {
      return await this.engine.command(db, body, sequence, documents);
    } catch (error) {
      throw nativeError(error);
    }
  }

  /** @internal Runs a command, blocking, and gives the checked reply. */
  runSync(db: string, command: Document, options: OperationOptions): Document {
    const body = this.encode(command, options);
    try {
      return this.decode(this.engine.commandSync(db, body), options);
    } catch (error) {
      throw nativeError(error);
    }
  }

  /** @internal Runs a command and gives the checked reply. */
  async runCommand(
    db: string, command: Document, options: OperationOptions, sequence?: string, documents?: Uint8Array
  ): Promise<Document> {
    return this.decode(await this.run(db, command, options, sequence, documents), options);
  }

  private decode(reply: Uint8Array, options: OperationOptions): Document {
    return decodeReply(reply, bsonOptions(options, this.bson));
  }

  private encode(command: Document, options: OperationOptions): Uint8Array {
    if (this.closing) throw new MongoNotConnectedError('the file was closed; open it again');
    const full = options.session ? { ...command, lsid: options.session.lsidFor(this) } : command;
    return BSON.serialize(full, { ignoreUndefined: true, ...bsonOptions(options, this.bson) });
  }

  /** Starts a logical session. */
  startSession(): ClientSession {
    return new ClientSession(this);
  }

  /** Runs `work` with a session that is ended afterwards. */
  async withSession<T>(work: (session: ClientSession) => Promise<T>): Promise<T> {
    const session = this.startSession();
    try {
      return await work(session);
    } finally {
      await session.endSession();
    }
  }

  /** Lets drivers and mongosh connect while the file is open. */
  async serve(options: ServeOptions = {}): Promise<Listener> {
    if (this.closing) throw new MongoNotConnectedError('the file was closed; open it again');
    const { port = 0, ...rest } = options;
    try {
      const listener = new Listener(this.engine.serve({ ...rest, port: port ?? undefined }), options.socket);
      this.cleanup.push(() => listener.stop());
      return listener;
    } catch (error) {
      throw nativeError(error);
    }
  }

  /** A real driver client on this file, through a private Unix socket; closed with this one. */
  async client(options?: MongoClientOptions): Promise<MongoClient> {
    this.privateUri ??= this.servePrivately();
    const client = new MongoClient(await this.privateUri, options);
    this.cleanup.push(() => client.close());
    return client.connect();
  }

  private async servePrivately(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'multiforadb-'));
    this.cleanup.push(() => rm(folder, { recursive: true, force: true }));
    const listener = await this.serve({ port: null, socket: join(folder, 'multifora.sock') });
    return listener.uri;
  }

  /**
   * Writes the database as it is now into a new file, while others go on reading and writing. What they commit later is
   * not in it. When it fails, no file is left. {@link interrupt} stops it, too.
   */
  async backup(path: string, { onProgress, signal }: BackupOptions = {}): Promise<void> {
    if (this.closing) throw new MongoNotConnectedError('the file was closed; open it again');
    signal?.throwIfAborted();
    let thrown: { error: unknown } | undefined;
    const show = onProgress && ((done: number, total: number) => {
      if (thrown) return;
      try {
        onProgress(done, total);
      } catch (error) {
        thrown = { error };
        work.stop();
      }
    });
    const work = this.engine.backup(path, show);
    const stop = (): void => work.stop();
    signal?.addEventListener('abort', stop, { once: true });
    try {
      await work.run();
    } catch (error) {
      if (!thrown) signal?.throwIfAborted();
      throw thrown ? thrown.error : nativeError(error);
    } finally {
      signal?.removeEventListener('abort', stop);
    }
    // Too late to stop it, and not to be lost.
    if (thrown) throw (thrown as { error: unknown }).error;
  }

  /** Stops the operations that are running now; they reject with code 11601. */
  interrupt(): void {
    this.engine.interrupt();
  }

  /** Stops listeners, writes a checkpoint and releases the file. Closing twice is fine. */
  async close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  private async shutDown(): Promise<void> {
    try {
      for (const step of this.cleanup.reverse()) await step();
    } finally {
      await this.engine.close().catch((error: unknown) => {
        throw nativeError(error);
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** A logical session: an `lsid` that commands carry. */
export class ClientSession {
  readonly id: Document;
  private ended = false;

  /** @internal */
  constructor(readonly client: MultiforaClient) {
    const uuid = randomBytes(16);
    uuid[6] = (uuid[6]! & 0x0f) | 0x40;
    uuid[8] = (uuid[8]! & 0x3f) | 0x80;
    this.id = { id: new Binary(uuid, Binary.SUBTYPE_UUID) };
  }

  /** True once `endSession` was called. */
  get hasEnded(): boolean {
    return this.ended;
  }

  /** @internal */
  lsidFor(client: MultiforaClient): Document {
    if (this.ended) throw new TypeError('Cannot use a session that has ended');
    if (client !== this.client) throw new TypeError('A session goes only with the client that started it');
    return this.id;
  }

  /** Ends the session; its cursors are closed. */
  async endSession(): Promise<void> {
    if (this.ended) return;
    this.ended = true;
    await this.client.runCommand('admin', { endSessions: [this.id] }, {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endSession();
  }
}

/** A running listener. */
export class Listener {
  /** @internal */
  constructor(private readonly native: NativeListener, readonly socket?: string) {}

  /** The TCP port. */
  get port(): number | null {
    return this.native.port;
  }

  /** A connection string for drivers and mongosh. */
  get uri(): string {
    const { address } = this.native;
    return address ? `mongodb://${address}/` : `mongodb://${encodeURIComponent(this.socket ?? '')}`;
  }

  /** Stops listening and closes its connections. */
  async stop(): Promise<void> {
    await this.native.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** The engine's version. */
export const version: string = native.version();
