/** Adds pictures to the next message, and says why they cannot go with one. */
import { picturesIn } from "../context.js";
import { describe, type Picture } from "../engine.js";
import { plural } from "../hunk-text.js";
import { reveal } from "../reveal.js";
import { additions, currentEngine, notify, project, settings, showError, spoken } from "../store.js";

/** Number of pictures of a message. The engine has the same limit for files that a message mentions. */
const PICTURES_MAX = 10;

/** Returns why no message can have pictures now, or null. Whether the model of a provider takes them, the provider says. */
function problem(): string | null {
  if (project.value.remote) {
    return "A server takes no pictures with a message. Name a picture of its files instead, such as @picture.png.";
  }
  if (settings.value.provider !== "offline") return null;
  return "The offline model takes no pictures. Choose another model to send one.";
}

function refuse(reason: string): false {
  notify(reason, { level: "error" });
  return false;
}

/** Whether a message with pictures can be sent. Says why if it cannot. */
export function mayGo(text: string): boolean {
  if (text.trim() === "") return refuse("Write what the assistant should do with the picture.");
  const reason = problem();
  return reason === null || refuse(reason);
}

/** The input of the last choice. Without a reference a browser may drop it while its dialog is open. */
let input: HTMLInputElement;

/** Lets the user choose pictures. */
function pickPictures(): void {
  input = document.createElement("input");
  Object.assign(input, { type: "file", multiple: true, accept: "image/png,image/jpeg,image/gif,image/webp" });
  input.onchange = () => void addPictures([...(input.files ?? [])]).catch(showError);
  input.click();
}

/** Adds files to the next message, those that are pictures. Without files the user chooses them. */
export async function addPictures(list?: readonly File[]): Promise<void> {
  const reason = problem();
  if (reason !== null) return void refuse(reason);
  if (!list) return pickPictures();
  const engine = currentEngine();
  const added: Picture[] = [];
  const problems: string[] = [];
  for (const file of list) {
    if (picturesIn(additions.value).length >= PICTURES_MAX) {
      problems.push(`At most ${PICTURES_MAX} pictures go with a message`);
      break;
    }
    try {
      const picture = await engine.addPicture(file);
      added.push(picture);
      additions.value = [...additions.value, picture];
    } catch (error) {
      problems.push(describe(error).message);
    }
  }
  if (added.length > 0) {
    const smaller = added.filter(({ scaled }) => scaled).length;
    spoken.value = `Added ${plural(added.length, "picture")} to the message.`;
    if (smaller > 0) notify(`Made ${plural(smaller, "picture")} smaller, because models take no larger ones.`);
  }
  if (problems.length > 0) refuse(problems.map((each) => `${reveal(each)}.`).join(" "));
  document.querySelector<HTMLElement>(".composer textarea")?.focus();
}
