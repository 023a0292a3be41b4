/** Stores files that belong to an evaluation, named by their contents. */
export interface ArtifactStore {
  /** Stores `contents` and returns its SHA-256 in hexadecimal. */
  put(contents: string | Uint8Array): string;
}

/** The files that an evaluation keeps, and where. */
export interface KeepRequest {
  readonly store: ArtifactStore;
  /** Also keep machine code as text. This needs a disassembler of the CUDA toolkit and a fraction of a second. */
  readonly sass: boolean;
}

/** The stored code of an evaluation, by content hashes of the store. */
export interface EvaluationArtifacts {
  ptx?: string;
  sass?: string;
  /** Why something that was asked for is missing. */
  notes?: string[];
}
