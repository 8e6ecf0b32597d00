/** Loads the addon: the one built here, or the one of this platform's package. */

export interface NativeOpenOptions {
  cache?: number;
  relaxedMs?: number;
  readOnly?: boolean;
  create?: boolean;
  compress?: boolean;
  ttlSweepSecs?: number;
}

export interface NativeServeOptions {
  bind?: string;
  port?: number;
  socket?: string;
  replicaSet?: string;
  advertise?: string;
}

export interface NativeListener {
  readonly port: number | null;
  readonly address: string | null;
  stop(): Promise<void>;
}

export interface NativeBackup {
  run(): Promise<void>;
  stop(): void;
}

export interface Engine {
  command(db: string, body: Uint8Array, sequence?: string, documents?: Uint8Array): Promise<Uint8Array>;
  commandSync(db: string, body: Uint8Array, sequence?: string, documents?: Uint8Array): Uint8Array;
  serve(options: NativeServeOptions): NativeListener;
  backup(path: string, onProgress?: (done: number, total: number) => void): NativeBackup;
  interrupt(): void;
  close(): Promise<void>;
  closeSync(): void;
}

interface Native {
  Engine: {
    open(path: string, options: NativeOpenOptions): Promise<Engine>;
    openSync(path: string, options: NativeOpenOptions): Engine;
  };
  version(): string;
}

function load(): Native {
  const failures: string[] = [];
  const candidates = ['../multiforadb.node', `multiforadb-${process.platform}-${process.arch}`];
  for (const candidate of candidates) {
    try {
      return require(candidate) as Native;
    } catch (error) {
      failures.push(`${candidate}: ${(error as Error).message.split('\n')[0]}`);
    }
  }
  throw new Error(
    `multiforadb has no addon for ${process.platform} ${process.arch} (${failures.join('; ')}). ` +
      'In a checkout, run "npm install" in bindings/node to build it.'
  );
}

export const native: Native = load();
