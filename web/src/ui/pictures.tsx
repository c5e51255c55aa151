/** The small copies of the pictures of a message. */
import "../styles/pictures.css";
import type { Picture } from "../engine.js";
import { reveal } from "../reveal.js";

export function PictureView({ picture: { name, thumb, width, height } }: { picture: Picture }) {
  // The size keeps the room while the picture is decoded. A dragged one would count as a dropped file.
  return <img class="picture" draggable={false} src={thumb} alt={reveal(name)} width={width} height={height} />;
}

/** The pictures of a sent message. */
export function Pictures({ pictures }: { pictures: readonly Picture[] }) {
  return (
    <ul class="pictures" aria-label="Pictures of the message">
      {pictures.map((picture) => (
        <li key={picture.id} title={`${reveal(picture.name)}, ${sizeName(picture)}`}>
          <PictureView picture={picture} />
        </li>
      ))}
    </ul>
  );
}

/** Returns a size such as "1280 × 800, 42 KB". */
export function sizeName({ width, height, bytes, scaled }: Picture): string {
  const size =
    bytes < 1_000_000 ? `${Math.max(1, Math.round(bytes / 1_000))} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${width} × ${height}, ${size}${scaled ? ", made smaller" : ""}`;
}
