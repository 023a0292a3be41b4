/** Takes files that belong to an evaluation and names them by their contents. */
export interface ArtifactStore {
  /** Stores `contents` and returns its SHA-256 in hexadecimal. */
  put(contents: string | Uint8Array): string;
}

/** What an evaluation is to keep beside its numbers, and where. */
export interface KeepRequest {
  readonly store: ArtifactStore;
  /** Machine code as text too: it takes a disassembler of the CUDA toolkit, and a part of a second. */
  readonly sass: boolean;
}

/** The stored code of an evaluation, by content hashes of the store. */
export interface EvaluationArtifacts {
  ptx?: string;
  sass?: string;
  /** Why something that was asked for is missing. */
  notes?: string[];
}
