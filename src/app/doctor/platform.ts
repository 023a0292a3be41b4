/** An operating system and a processor, by Node's names. */
export interface Platform {
  readonly platform: string;
  readonly arch: string;
}

/** What works on a platform. Each text is a sentence or several. */
export interface PlatformSupport {
  /** As people call it: `macOS on arm64`. */
  readonly name: string;
  /** Absent where everything is tried and works. */
  readonly limits?: { readonly works: string; readonly needs: string };
}

const SYSTEMS: Readonly<Record<string, string>> = { linux: 'Linux', darwin: 'macOS', win32: 'Windows' };

const NEEDS_CLANG: Readonly<Record<string, string>> = {
  linux: 'Virtual GPUs need clang 19 or newer with the NVPTX target on PATH: the one from npm is for Linux x64.',
  darwin:
    'Virtual GPUs need clang 19 or newer with the NVPTX target on PATH, such as Homebrew’s llvm; Apple’s has no NVPTX.',
};

const GPUS: Readonly<Record<string, string>> = {
  linux: 'Real GPUs have been tried on Linux x64 only.',
  darwin: 'There are no NVIDIA GPUs for macOS.',
};

/** What works on a platform, and what it needs for that. */
export function platformSupport({ platform, arch }: Platform): PlatformSupport {
  const name = `${SYSTEMS[platform] ?? platform} on ${arch}`;
  if (platform === 'linux' && arch === 'x64') return { name };
  const clang = NEEDS_CLANG[platform];
  if (clang === undefined || !['x64', 'arm64'].includes(arch)) {
    return { name, limits: { works: 'Nothing has been tried here.', needs: 'Use Linux x64, or WSL 2 on Windows.' } };
  }
  const works = `Everything that judges no kernel works: check, learn, log, report, runs, show. ${GPUS[platform]}`;
  return { name, limits: { works, needs: clang } };
}

/** What to say before a kernel is judged; undefined where there is nothing to say. */
export function platformNotice(at: Platform): string | undefined {
  const { name, limits } = platformSupport(at);
  if (limits === undefined) return undefined;
  return `warpsmith is tried on Linux x64; this is ${name}. ${limits.needs} See \`warpsmith doctor\`.`;
}
